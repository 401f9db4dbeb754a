package intent

import (
	"slices"

	"github.com/millrace/millrace/internal/shares"
)

// schedulerPolicy is what a scheduler policy says about the queues of an output port.
type schedulerPolicy struct {
	// queues in the order of their service.
	queues []queue
	// excess is te-qos-ext:excess-sharing.
	excess shares.Excess
}

// queue is one input of a scheduler.
type queue struct {
	name string
	shares.Queue
}

// shares are the queues without their names.
func (p schedulerPolicy) shares() []shares.Queue { return sharesOf(p.queues) }

func sharesOf(queues []queue) []shares.Queue {
	out := make([]shares.Queue, len(queues))
	for i, q := range queues {
		out[i] = q.Queue
	}
	return out
}

// levels orders te-qos-ext:priority-level.
var levels = map[string]int{"STRICT_HIGH": 0, "HIGH": 1, "MEDIUM_HIGH": 2, "MEDIUM_LOW": 3, "LOW": 4}

const maxPriorities = 8 // HTB's

// readSchedulers reads scheduler policies. Those that police become policers, the
// others the queues of output ports. The order of service is priority-level where
// it is given, else sequence.
func (c *compiler) readSchedulers() error {
	c.schedulers, c.policerPolicies = map[string]schedulerPolicy{}, map[string]view{}
	for _, policy := range c.root.at("qos", "scheduler-policies", "scheduler-policy").entries() {
		if polices(policy) {
			c.policerPolicies[policy.text("name")] = policy
			continue
		}
		queues, err := readScheduler(policy)
		if err != nil {
			return err
		}
		c.schedulers[policy.text("name")] = queues
	}
	return nil
}

func readScheduler(policy view) (schedulerPolicy, error) {
	var out schedulerPolicy
	schedulers := policy.at("schedulers", "scheduler").entries()
	withLevel, withEqual := 0, 0
	for rank, s := range schedulers {
		if level := s.text("config", "priority-level"); level != "" {
			withLevel++
			rank = levels[level]
		}
		if s.text("config", "excess-sharing") == "EQUAL" {
			withEqual++
		}
		inputs, err := readInputs(s, rank)
		if err != nil {
			return out, err
		}
		out.queues = append(out.queues, inputs...)
	}
	if withLevel != 0 && withLevel != len(schedulers) {
		return out, invalid(policy.path, "give te-qos-ext:priority-level to every scheduler of a policy or to none")
	}
	if withEqual != 0 && withEqual != len(schedulers) {
		return out, invalid(policy.path, "te-qos-ext:excess-sharing is EQUAL for some schedulers; say the same for every scheduler of a policy")
	}
	if withEqual > 0 {
		out.excess = shares.Equal
	}
	slices.SortStableFunc(out.queues, func(a, b queue) int { return shares.Compare(a.Queue, b.Queue) })
	return out, checkQueues(policy, out.queues)
}

func readInputs(s view, rank int) ([]queue, error) {
	strict := s.text("config", "priority") == "STRICT"
	limit, err := readShape(s)
	if err != nil {
		return nil, err
	}
	var out []queue
	for _, in := range s.at("inputs", "input").entries() {
		if t := in.text("config", "input-type"); t != "QUEUE" {
			return nil, unsupported(in.path+"/config/input-type", "is %q; only QUEUE is implemented", t)
		}
		weight, ok := in.number("config", "weight")
		if !ok {
			return nil, invalid(in.path+"/config/weight", "is missing; every queue needs a share, 0 is one too")
		}
		if weight > shares.MaxWeight {
			return nil, unsupported(in.path+"/config/weight", "is above %d", shares.MaxWeight)
		}
		name := in.text("config", "queue")
		if name == "" {
			return nil, invalid(in.path+"/config/queue", "is missing")
		}
		out = append(out, queue{name, shares.Queue{Weight: weight, Priority: rank, Strict: strict, Max: limit}})
	}
	if limit != (shares.Limit{}) && len(out) > 1 {
		return nil, unsupported(s.path+"/one-rate-two-color", "shapes %d inputs together; one input per shaped scheduler is implemented", len(out))
	}
	return out, nil
}

// readShape reads the shaper of a scheduler: the most its queue may use.
func readShape(s view) (shares.Limit, error) {
	if t := s.text("config", "type"); t != "" && t != "ONE_RATE_TWO_COLOR" {
		return shares.Limit{}, unsupported(s.path+"/config/type", "is %q; schedulers of queues are ONE_RATE_TWO_COLOR", t)
	}
	c := s.at("one-rate-two-color", "config")
	if !c.exists() {
		return shares.Limit{}, nil
	}
	rate, hasRate := c.number("cir")
	percent, hasPercent := c.number("cir-pct")
	switch {
	case c.text("bc") != "":
		return shares.Limit{}, unsupported(c.path+"/bc", "is for policers; the burst of a shaper is the kernel's")
	case hasRate && hasPercent:
		return shares.Limit{}, invalid(c.path, "give cir or cir-pct, not both")
	case hasRate && rate < shares.MinRate:
		return shares.Limit{}, invalid(c.path+"/cir", "is below %d bit/s", shares.MinRate)
	case hasPercent && percent == 0:
		return shares.Limit{}, invalid(c.path+"/cir-pct", "is 0, so the queue would never send")
	case !hasRate && !hasPercent:
		return shares.Limit{}, invalid(c.path, "a shaper needs cir or cir-pct")
	}
	return shares.Limit{Rate: rate, Percent: percent}, nil
}

// checkQueues refuses a queue that is served twice, and more priorities than HTB has.
func checkQueues(policy view, queues []queue) error {
	seen := map[string]bool{}
	for _, q := range queues {
		if seen[q.name] {
			return invalid(policy.path, "queue %s is an input twice", q.name)
		}
		seen[q.name] = true
	}
	if n := 1 + slices.Max(append(shares.Priorities(sharesOf(queues)), -1)); n > maxPriorities {
		return unsupported(policy.path, "%d priorities; the kernel has %d", n, maxPriorities)
	}
	return nil
}

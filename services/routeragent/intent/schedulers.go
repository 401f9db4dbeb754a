package intent

import (
	"cmp"
	"slices"
)

// schedulerPolicy is what a scheduler policy says about queues that leave.
type schedulerPolicy struct {
	shares []share
	// equal shares the excess equally, whatever the weights (te-qos-ext:excess-sharing).
	equal bool
	// strict is true if some queue is served before all others whatever its weight, as OpenConfig's priority STRICT says.
	strict bool
}

// share is one queue of a scheduler policy.
type share struct {
	queue    string
	weight   uint64
	priority int
	strict   bool
	limit    limit
}

// limit is the most a queue may use: bit/s, or percent of the line; zero is no limit.
type limit struct{ rate, percent uint64 }

// of is the limit on a line, never above it.
func (l limit) of(line uint64) uint64 {
	switch {
	case l.percent > 0:
		return min(scale(line, l.percent, 100), line)
	case l.rate > 0:
		return min(l.rate, line)
	}
	return line
}

// levels orders te-qos-ext:priority-level.
var levels = map[string]int{"STRICT_HIGH": 0, "HIGH": 1, "MEDIUM_HIGH": 2, "MEDIUM_LOW": 3, "LOW": 4}

const maxPriorities = 8 // HTB's

// readSchedulers reads scheduler policies: those that police become policers,
// the others shares. A policy's rank of service comes from priority-level where
// given, else from sequence.
func (c *compiler) readSchedulers() error {
	c.schedulers, c.policerPolicies = map[string]schedulerPolicy{}, map[string]view{}
	for _, policy := range c.root.at("qos", "scheduler-policies", "scheduler-policy").entries() {
		if polices(policy) {
			c.policerPolicies[policy.text("name")] = policy
			continue
		}
		shares, err := readScheduler(policy)
		if err != nil {
			return err
		}
		c.schedulers[policy.text("name")] = shares
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
		out.shares = append(out.shares, inputs...)
	}
	if withLevel != 0 && withLevel != len(schedulers) {
		return out, invalid(policy.path, "give te-qos-ext:priority-level to every scheduler of a policy or to none")
	}
	if withEqual != 0 && withEqual != len(schedulers) {
		return out, invalid(policy.path, "te-qos-ext:excess-sharing is EQUAL for some schedulers; say the same for every scheduler of a policy")
	}
	out.equal = withEqual > 0
	out.strict = slices.ContainsFunc(out.shares, func(s share) bool { return s.strict })
	var err error
	out.shares, err = compress(policy, out.shares)
	return out, err
}

func readInputs(s view, rank int) ([]share, error) {
	strict := s.text("config", "priority") == "STRICT"
	limit, err := readShape(s)
	if err != nil {
		return nil, err
	}
	var out []share
	for _, in := range s.at("inputs", "input").entries() {
		if t := in.text("config", "input-type"); t != "QUEUE" {
			return nil, unsupported(in.path+"/config/input-type", "is %q; only QUEUE is implemented", t)
		}
		weight, ok := in.number("config", "weight")
		if !ok {
			return nil, invalid(in.path+"/config/weight", "is missing; every queue needs a share, 0 is one too")
		}
		if weight > maxWeight {
			return nil, unsupported(in.path+"/config/weight", "is above %d", maxWeight)
		}
		queue := in.text("config", "queue")
		if queue == "" {
			return nil, invalid(in.path+"/config/queue", "is missing")
		}
		out = append(out, share{queue: queue, weight: weight, priority: rank, strict: strict, limit: limit})
	}
	if limit.rate+limit.percent > 0 && len(out) > 1 {
		return nil, unsupported(s.path+"/one-rate-two-color", "shapes %d inputs together; one input per shaped scheduler is implemented", len(out))
	}
	return out, nil
}

// maxWeight keeps every sum and product of weights far from overflow.
const maxWeight = 1_000_000

// readShape reads the shaper of a scheduler: the most its queue may use.
func readShape(s view) (limit, error) {
	if t := s.text("config", "type"); t != "" && t != "ONE_RATE_TWO_COLOR" {
		return limit{}, unsupported(s.path+"/config/type", "is %q; schedulers of queues are ONE_RATE_TWO_COLOR", t)
	}
	c := s.at("one-rate-two-color", "config")
	if !c.exists() {
		return limit{}, nil
	}
	rate, hasRate := c.number("cir")
	percent, hasPercent := c.number("cir-pct")
	switch {
	case c.text("bc") != "":
		return limit{}, unsupported(c.path+"/bc", "is for policers; the burst of a shaper is the kernel's")
	case hasRate && hasPercent:
		return limit{}, invalid(c.path, "give cir or cir-pct, not both")
	case hasRate && rate < minRate:
		return limit{}, invalid(c.path+"/cir", "is below %d bit/s", minRate)
	case hasPercent && percent == 0:
		return limit{}, invalid(c.path+"/cir-pct", "is 0, so the queue would never send")
	case !hasRate && !hasPercent:
		return limit{}, invalid(c.path, "a shaper needs cir or cir-pct")
	}
	return limit{rate: rate, percent: percent}, nil
}

// compress renumbers priorities from 0. Among strict inputs of one scheduler the higher weight goes first.
func compress(policy view, shares []share) ([]share, error) {
	slices.SortStableFunc(shares, func(a, b share) int {
		if c := cmp.Compare(a.priority, b.priority); c != 0 {
			return c
		}
		if a.strict && b.strict {
			return cmp.Compare(b.weight, a.weight)
		}
		return 0
	})
	next := -1
	var last share
	seen := map[string]bool{}
	for i, s := range shares {
		if seen[s.queue] {
			return nil, invalid(policy.path, "queue %s is an input twice", s.queue)
		}
		seen[s.queue] = true
		if i == 0 || s.priority != last.priority || s.strict {
			next++
		}
		last = s
		shares[i].priority = next
	}
	if next >= maxPriorities {
		return nil, unsupported(policy.path, "%d priorities; the kernel has %d", next+1, maxPriorities)
	}
	return shares, nil
}

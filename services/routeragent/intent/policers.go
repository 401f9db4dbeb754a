package intent

import (
	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/services/routeragent/kernel"
)

// PolicerID names a policer on an interface.
type PolicerID struct {
	// Interface is the interface-id of the binding.
	Interface string
	// Sequence of the scheduler.
	Sequence uint32
}

// polices distinguishes a policer from a scheduler of queues: it says POLICE, or has two rates.
func polices(policy view) bool {
	for _, s := range policy.at("schedulers", "scheduler").entries() {
		if s.text("config", "type") == "TWO_RATE_THREE_COLOR" || s.text("one-rate-two-color", "config", "queuing-behavior") == "POLICE" {
			return true
		}
	}
	return false
}

// readPolicers reads the policers bound to interfaces, at input.
func (c *compiler) readPolicers() error {
	c.policers, c.policerIDs = map[string][]kernel.Policer{}, map[PolicerID]PolicerAt{}
	for _, e := range c.root.at("qos", "interfaces", "interface").entries() {
		name := e.text("input", "scheduler-policy", "config", "name")
		if name == "" {
			continue
		}
		where := e.path + "/input/scheduler-policy/config/name"
		port, in, gone := c.boundInterface(e)
		policy, ok := c.policerPolicies[name]
		if !ok {
			return unsupported(where, "policy %s does not police; only policers are implemented at input", name)
		}
		if _, twice := c.policers[port]; twice {
			return invalid(e.path, "interface %s has policers already", port)
		}
		if gone == nil && in.Speed == 0 && ofSpeed(policy) {
			gone = unknownSpeed(e.path+"/input", port)
		}
		if gone != nil {
			c.leftOut[e.path+"/input"] = gone
			continue
		}
		if err := c.readPolicersOf(e.text("interface-id"), port, in.Speed, policy); err != nil {
			return err
		}
		c.portIDs[port] = e.text("interface-id")
	}
	return nil
}

// ofSpeed reports whether a policer has a rate in percent of the port speed.
func ofSpeed(policy view) bool {
	for _, s := range policy.at("schedulers", "scheduler").entries() {
		one, two := s.at("one-rate-two-color", "config"), s.at("two-rate-three-color", "config")
		if one.at("cir-pct").exists() || two.at("cir-pct").exists() || two.at("pir-pct").exists() {
			return true
		}
	}
	return false
}

// PolicerAt locates the counters of a policer in the kernel.
type PolicerAt struct {
	// Interface of Linux.
	Interface string
	Class     int
	// Colours is 2 or 3.
	Colours int
}

func (c *compiler) readPolicersOf(id, port string, speed uint64, policy view) error {
	seen := map[int]bool{}
	for _, s := range policy.at("schedulers", "scheduler").entries() {
		p, err := c.readPolicer(s, speed)
		if err != nil {
			return err
		}
		if seen[p.Class] {
			return invalid(s.path+"/inputs", "its queue has a policer already")
		}
		seen[p.Class] = true
		sequence, _ := s.number("sequence")
		at := PolicerAt{Interface: port, Class: p.Class, Colours: 2}
		if p.PeakRate > 0 {
			at.Colours = 3
		}
		c.policerIDs[PolicerID{id, uint32(sequence)}] = at
		c.policers[port] = append(c.policers[port], p)
	}
	return nil
}

func (c *compiler) readPolicer(s view, speed uint64) (kernel.Policer, error) {
	var p kernel.Policer
	inputs := s.at("inputs", "input").entries()
	if len(inputs) != 1 {
		return p, unsupported(s.path+"/inputs", "a policer of %d inputs; one is implemented", len(inputs))
	}
	queue := inputs[0].text("config", "queue")
	if t := inputs[0].text("config", "input-type"); t != "QUEUE" || queue == "" {
		return p, unsupported(inputs[0].path+"/config/input-type", "is %q; only QUEUE with a queue is implemented", t)
	}
	var ok bool
	if p.Class, ok = c.ids.class(queue); !ok {
		return p, tooMany(s.path, kernel.MaxClass, "queues in use")
	}
	if s.text("config", "type") != "TWO_RATE_THREE_COLOR" {
		return p, c.readOneRate(s.at("one-rate-two-color"), speed, &p)
	}
	var err error
	two := s.at("two-rate-three-color")
	if p.Rate, p.Burst, err = readBucket(two.at("config"), "cir", "bc", speed); err != nil {
		return p, err
	}
	if p.PeakRate, p.PeakBurst, err = readBucket(two.at("config"), "pir", "be", speed); err != nil {
		return p, err
	}
	if p.PeakRate < p.Rate {
		return p, invalid(two.path+"/config/pir", "is below cir (RFC 2698 section 2)")
	}
	if p.Exceed, err = c.readAction(two.at("exceed-action", "config")); err != nil {
		return p, err
	}
	p.Violate, err = c.readAction(two.at("violate-action", "config"))
	return p, err
}

func (c *compiler) readOneRate(one view, speed uint64, p *kernel.Policer) (err error) {
	if b := one.text("config", "queuing-behavior"); b != "POLICE" {
		return unsupported(one.path+"/config/queuing-behavior", "is %q; at input only POLICE is implemented", b)
	}
	if p.Rate, p.Burst, err = readBucket(one.at("config"), "cir", "bc", speed); err != nil {
		return err
	}
	p.Exceed, err = c.readAction(one.at("exceed-action", "config"))
	return err
}

// readBucket reads a rate in bit/s, or in percent of the port speed, and its burst in bytes.
func readBucket(v view, rate, burst string, speed uint64) (uint64, uint32, error) {
	bps, hasRate := v.number(rate)
	percent, hasPercent := v.number(rate + "-pct")
	if hasRate == hasPercent {
		return 0, 0, invalid(v.path, "a policer needs %s or %s-pct", rate, rate)
	}
	if hasPercent {
		bps = shares.Scale(speed, percent, 100)
	}
	if bps == 0 {
		return 0, 0, invalid(v.path+"/"+rate, "is 0")
	}
	if bps > maxPolicedRate {
		return 0, 0, unsupported(v.path+"/"+rate, "is above %d bit/s", uint64(maxPolicedRate))
	}
	bytes, ok := v.number(burst)
	if !ok || bytes == 0 {
		return 0, 0, invalid(v.path+"/"+burst, "is missing; without a burst no packet conforms")
	}
	if bytes > kernel.MaxBurst {
		return 0, 0, unsupported(v.path+"/"+burst, "is above %d bytes", kernel.MaxBurst)
	}
	return bps, uint32(bytes), nil
}

const maxPolicedRate = 1_000_000_000_000

// losses are te-qos-ext:loss-priority.
var losses = map[string]kernel.Loss{"LOW": kernel.LossLow, "MEDIUM_LOW": kernel.LossMediumLow, "MEDIUM_HIGH": kernel.LossMediumHigh, "HIGH": kernel.LossHigh}

func (c *compiler) readAction(v view) (kernel.Action, error) {
	var a kernel.Action
	drop := v.text("drop")
	a.Drop = drop == "true"
	if dscp, ok := v.number("set-dscp"); ok {
		a.Remark = kernel.RemarkTo(uint8(dscp))
	}
	a.Loss = losses[v.text("loss-priority")]
	if group := v.text("target-group"); group != "" {
		class, err := c.classOf(v.path+"/target-group", group)
		if err != nil {
			return a, err
		}
		a.Class = class
	}
	if a == (kernel.Action{}) && drop == "" {
		return a, invalid(v.path, "says nothing; give drop (false only counts), set-dscp, te-qos-ext:target-group or te-qos-ext:loss-priority")
	}
	return a, nil
}

// unruled is the class of packets that no rule gave a class: they wait in the queue
// with the lowest queue-id, so the policer of that queue applies to them.
func (c *compiler) unruled() int {
	best, bestID, found := "", uint64(0), false
	for _, q := range c.root.at("qos", "queues", "queue").entries() {
		if id, ok := q.number("config", "queue-id"); ok && (!found || id < bestID) {
			best, bestID, found = q.text("name"), id, true
		}
	}
	return c.ids.next.Classes[best]
}

package intent

import (
	"maps"
	"slices"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// rulePolicer is the number of the policer that a rule names; 0 where it names none.
func (c *compiler) rulePolicer(r view) (int, error) {
	name := r.text("action", "config", "policer")
	if name == "" {
		return 0, nil
	}
	where := r.path + "/action/config/policer"
	n, ok := c.ids.policer(name)
	if !ok {
		return 0, tooMany(where, kernel.MaxPolicers, "policers")
	}
	if c.policed[name] == "" {
		c.policed[name] = where
	}
	return n, nil
}

// readRulePolicers reads the policers that rules name. Each limits the packets of all its rules together, wherever they
// come in, so it has one rate, no input, and no port to be a percentage of.
func (c *compiler) readRulePolicers() error {
	c.rulePolicers, c.meters = map[int]kernel.Policer{}, map[RuleID]int{}
	for _, name := range slices.Sorted(maps.Keys(c.policed)) {
		where := c.policed[name]
		policy, ok := c.policerPolicies[name]
		if !ok {
			return unsupported(where, "policy %s does not police; rules name policers only", name)
		}
		schedulers := policy.at("schedulers", "scheduler").entries()
		if len(schedulers) != 1 {
			return unsupported(policy.path, "has %d schedulers; a policer of rules has one", len(schedulers))
		}
		s := schedulers[0]
		switch {
		case s.text("config", "type") == "TWO_RATE_THREE_COLOR":
			return unsupported(s.path+"/config/type", "is TWO_RATE_THREE_COLOR; a policer of rules has one rate")
		case len(s.at("inputs", "input").entries()) > 0:
			return unsupported(s.path+"/inputs", "a policer of rules has the rules' packets and no input")
		case s.at("one-rate-two-color", "config", "cir-pct").exists():
			return unsupported(s.path+"/one-rate-two-color/config/cir-pct", "a policer of rules has no port; give cir")
		}
		var p kernel.Policer
		if err := c.readOneRate(s.at("one-rate-two-color"), 0, &p); err != nil {
			return err
		}
		n := c.ids.next.Policers[name]
		sequence, _ := s.number("sequence")
		c.rulePolicers[n], c.meters[RuleID{name, uint32(sequence)}] = p, n
	}
	return nil
}

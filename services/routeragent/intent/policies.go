package intent

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// readPolicies reads the forwarding policies, every rule expanded to pairs of prefixes.
func (c *compiler) readPolicies() error {
	c.policies, c.rules, c.policed = map[string][]kernel.Rule{}, map[RuleID]int{}, map[string]string{}
	for _, p := range c.ni("policy-forwarding", "policies", "policy").entries() {
		name := p.text("policy-id")
		if t := p.text("config", "type"); t != "MATCH_ACTION_POLICY" {
			return unsupported(p.path+"/config/type", "is %q; only MATCH_ACTION_POLICY is implemented", t)
		}
		for _, r := range p.at("rules", "rule").entries() {
			rules, err := c.readRule(name, r)
			if err != nil {
				return err
			}
			c.policies[name] = append(c.policies[name], rules...)
		}
		if err := checkLimits(p.path, c.policies[name]); err != nil {
			return err
		}
	}
	return nil
}

// checkLimits refuses more rules than one rule set has room for.
func checkLimits(where string, rules []kernel.Rule) error {
	lengths := map[[3]int]bool{}
	of, terms := map[int]int{}, 0
	for _, r := range rules {
		if r.Match != nil {
			terms++
			continue
		}
		l := [3]int{r.Src.Addr().BitLen(), r.Src.Bits(), r.Dst.Bits()}
		if !lengths[l] {
			lengths[l] = true
			of[l[0]]++
		}
	}
	if n := max(of[32], of[128]); n > kernel.MaxLengthPairs {
		return unsupported(where, "uses %d different pairs of prefix lengths; %d are implemented", n, kernel.MaxLengthPairs)
	}
	if terms > kernel.MaxTerms {
		return unsupported(where, "has %d rules with DSCP, protocol or ports (lists of prefixes multiplied out); %d are implemented", terms, kernel.MaxTerms)
	}
	return nil
}

func (c *compiler) readRule(policy string, r view) ([]kernel.Rule, error) {
	sequence, _ := r.number("sequence-id")
	matches, err := c.readMatches(r)
	if err != nil {
		return nil, err
	}
	class, path, err := c.action(r)
	if err != nil {
		return nil, err
	}
	slot, ok := c.ids.counter(policy + "/" + strconv.FormatUint(sequence, 10))
	if !ok {
		return nil, tooMany(r.path, kernel.MaxRuleCounters, "rules")
	}
	c.rules[RuleID{policy, uint32(sequence)}] = slot
	policer, err := c.rulePolicer(r)
	if err != nil {
		return nil, err
	}
	for other := range anyPrefix {
		if len(matches) == 1 && matches[0].family != other && r.at("action", other, "config", "dscp").exists() {
			return nil, invalid(r.path+"/action/"+other, "is for packets the rule does not match")
		}
	}
	var out []kernel.Rule
	for _, m := range matches {
		remark, err := readMark(r, m.family)
		if err != nil {
			return nil, err
		}
		if class == 0 && path == 0 && remark == 0 && policer == 0 {
			return nil, invalid(r.path+"/action", "does nothing; give a qos-forwarding-group, a path-selection-group, a te-qos-ext:policer or a dscp")
		}
		if err := c.reachable(r, path, m.family); err != nil {
			return nil, err
		}
		out = append(out, m.rules(kernel.Rule{Sequence: uint32(sequence), Mark: kernel.Mark(class, path), Set: c.sets[path] != nil, Remark: remark, Counter: slot, Policer: policer})...)
	}
	return out, nil
}

// rules multiplies the prefixes of a match out.
func (m match) rules(r kernel.Rule) []kernel.Rule {
	if m.more != (kernel.Match{}) {
		r.Match = &m.more
	}
	var out []kernel.Rule
	for _, s := range m.src {
		for _, d := range m.dst {
			r.Src, r.Dst = s, d
			out = append(out, r)
		}
	}
	return out
}

// readMark is the DSCP a rule writes, by the family of the packets.
func readMark(r view, family string) (kernel.Remark, error) {
	dscp, ok := r.number("action", family, "config", "dscp")
	if !ok {
		return 0, nil
	}
	return kernel.RemarkTo(uint8(dscp)), nil
}

// action is the class and the LSP of a rule.
func (c *compiler) action(r view) (class, path int, err error) {
	action := r.at("action")
	if a := action.text("forwarding", "config", "forwarding-action"); a != "" && a != "FORWARD" {
		return 0, 0, unsupported(action.path+"/forwarding/config/forwarding-action", "is %q; only FORWARD is implemented", a)
	}
	if group := action.text("forwarding", "config", "qos-forwarding-group"); group != "" {
		if class, err = c.classOf(action.path+"/forwarding/config/qos-forwarding-group", group); err != nil {
			return 0, 0, err
		}
	}
	if group := action.text("config", "path-selection-group"); group != "" {
		path, err = c.pathOf(action.path, group)
	}
	return class, path, err
}

// classOf is the class of a forwarding group.
func (c *compiler) classOf(where, group string) (int, error) {
	queue := c.root.at("qos", "forwarding-groups", "forwarding-group").entry(group).text("config", "output-queue")
	if queue == "" {
		return 0, invalid(where, "forwarding group %q has no output-queue", group)
	}
	class, ok := c.ids.class(queue)
	if !ok {
		return 0, tooMany(where, kernel.MaxClass, "queues in use")
	}
	return class, nil
}

func (c *compiler) pathOf(where, group string) (int, error) {
	id, ok := c.pathByGroup[group]
	if !ok {
		return 0, invalid(where, "there is no path-selection-group %q", group)
	}
	return id, nil
}

// reachable refuses IPv6 packets on an LSP that cannot carry them.
func (c *compiler) reachable(r view, path int, family string) error {
	members := c.paths(path)
	for _, t := range c.tunnels {
		if family == "ipv6" && !t.SRv6() && slices.Contains(members, t.ID) {
			return unsupported(r.path+"/ipv6", "tunnel %s is SR-MPLS with IPv4 next hops, which cannot carry IPv6; SRv6 can", t.Name)
		}
	}
	return nil
}

// readBindings reads which forwarding policy or classifiers apply to the packets that arrive on each interface.
func (c *compiler) readBindings() error {
	c.bindings = map[string]string{}
	for _, e := range c.ni("policy-forwarding", "interfaces", "interface").entries() {
		policy := e.text("config", "apply-forwarding-policy")
		if policy == "" {
			continue
		}
		name, _, gone := c.boundInterface(e)
		if _, ok := c.policies[policy]; !ok {
			return invalid(e.path+"/config/apply-forwarding-policy", "policy %q has no rules", policy)
		}
		if _, twice := c.bindings[name]; twice {
			return invalid(e.path, "interface %s has a policy already", name)
		}
		if gone != nil {
			c.leftOut[e.path] = gone
			continue
		}
		c.bindings[name] = policy
	}
	return c.readClassifiers()
}

// boundPolicies are the rule sets that are bound to an interface.
func (c *compiler) boundPolicies() map[string][]kernel.Rule {
	out := map[string][]kernel.Rule{}
	for _, policy := range c.bindings {
		if rules, ok := c.ofPorts[policy]; ok {
			out[policy] = rules
		} else {
			out[policy] = c.policies[policy]
		}
	}
	return out
}

var anyPrefix = map[string]netip.Prefix{"ipv4": netip.PrefixFrom(netip.IPv4Unspecified(), 0), "ipv6": netip.PrefixFrom(netip.IPv6Unspecified(), 0)}

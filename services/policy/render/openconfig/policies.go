package openconfig

import (
	"fmt"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// policies says filters that look at addresses or ports, or change the path, as match-action policies.
func (r *renderer) policies() {
	for _, f := range r.plan.Filters {
		if isClassifier(f) {
			continue
		}
		var rules []any
		for _, rule := range f.Rules {
			rules = append(rules, rulesOf(rule)...)
		}
		name := owned(f.Name)
		r.add(configentry.ForwardingPolicy, name, entry("policy-id", name, object{"type": "MATCH_ACTION_POLICY"},
			object{"rules": object{"rule": rules}}))
	}
}

// everything is the address family of a rule that says nothing of addresses: an
// empty container would be no condition at all, and vanish.
var everything = map[string]string{"ipv4": "0.0.0.0/0", "ipv6": "::/0"}

// rulesOf makes one rule of one that names addresses, and one per family of the others.
func rulesOf(rule compile.Rule) []any {
	m := rule.Match
	if m.Src.IsValid() || m.Dst.IsValid() {
		return []any{oneRule(rule, rule.Sequence, familyOf(m))}
	}
	return []any{oneRule(rule, rule.Sequence, "ipv4"), oneRule(rule, rule.Sequence+1, "ipv6")}
}

func familyOf(m compile.Match) string {
	if (m.Src.IsValid() && m.Src.Addr().Is4()) || (m.Dst.IsValid() && m.Dst.Addr().Is4()) {
		return "ipv4"
	}
	return "ipv6"
}

func oneRule(rule compile.Rule, sequence uint32, family string) object {
	action := object{"forwarding": object{"config": object{
		"forwarding-action":    "openconfig-policy-forwarding:FORWARD",
		"qos-forwarding-group": owned(rule.Queue),
	}}}
	config := object{}
	if rule.LSP != "" {
		config["path-selection-group"] = rule.LSP
	}
	if rule.Profiled {
		config["te-qos-ext:policer"] = profileName(rule.Circuit)
	}
	action["config"] = config
	if rule.Mark != nil {
		action[family] = object{"config": object{"dscp": uint8(*rule.Mark)}}
	}
	out := object{
		"sequence-id": sequence,
		"config":      object{"sequence-id": sequence},
		family:        object{"config": conditions(rule, family)},
		"action":      action,
	}
	if ports := portsOf(rule.Match); len(ports) > 0 {
		out["transport"] = object{"config": ports}
	}
	return out
}

// conditions names addresses in the rule itself: a rule has one of each, and 20,000 pairs with two prefix sets each
// are twice the bytes and more than twice the router's work.
func conditions(rule compile.Rule, family string) object {
	m, out := rule.Match, object{}
	if m.Src.IsValid() {
		out["source-address"] = m.Src.String()
	}
	if m.Dst.IsValid() {
		out["destination-address"] = m.Dst.String()
	}
	if len(m.DSCPs) > 0 {
		out["dscp-set"] = codePoints(rule)
	}
	if m.Protocol != 0 {
		out["protocol"] = uint8(m.Protocol)
	}
	if len(out) == 0 {
		out["destination-address"] = everything[family]
	}
	return out
}

func portsOf(m compile.Match) object {
	out := object{}
	for name, p := range map[string]*document.PortRange{"source-port": m.SrcPort, "destination-port": m.DstPort} {
		switch {
		case p == nil:
		case p.First == p.Last:
			out[name] = p.First
		default:
			out[name] = fmt.Sprintf("%d..%d", p.First, p.Last)
		}
	}
	return out
}

func (r *renderer) bindings() {
	for _, f := range r.plan.Filters {
		if isClassifier(f) {
			continue
		}
		for _, i := range f.Interfaces {
			r.add(configentry.ForwardingInterface, i, entry("interface-id", i,
				object{"apply-forwarding-policy": owned(f.Name)}, object{"interface-ref": interfaceRef(i)}))
		}
	}
}

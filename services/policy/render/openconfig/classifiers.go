package openconfig

import (
	"strconv"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/policy/compile"
)

// isClassifier is whether a filter can be said with a QoS classifier: it looks
// at code points only and changes no path. Such filters touch nothing but QoS,
// and every router has them; the others are forwarding policies. (An interface
// has one or the other: OpenConfig's match-action document.)
func isClassifier(f compile.Filter) bool {
	for _, r := range f.Rules {
		m := r.Match
		if r.LSP != "" || r.Pair != "" || r.Circuit != "" || m.Src.IsValid() || m.Dst.IsValid() || m.Protocol != 0 {
			return false
		}
	}
	return true
}

// families are the types of a classifier: one of each is needed, for a classifier looks at one family only.
var families = []struct{ suffix, name, container string }{{"-4", "IPV4", "ipv4"}, {"-6", "IPV6", "ipv6"}}

func (r *renderer) classifiers() {
	for _, f := range r.plan.Filters {
		if !isClassifier(f) {
			continue
		}
		for _, family := range families {
			name := owned(f.Name + family.suffix)
			terms := make([]any, len(f.Rules))
			for i, rule := range f.Rules {
				terms[i] = term(rule, family.container)
			}
			r.add(configentry.Classifier, name, entry("name", name, object{"type": family.name}, object{"terms": object{"term": terms}}))
		}
	}
}

func term(rule compile.Rule, container string) object {
	actions := object{"config": object{"target-group": owned(rule.Queue)}}
	if rule.Mark != nil {
		actions["remark"] = object{"config": object{"set-dscp": uint8(*rule.Mark)}}
	}
	rest := object{"actions": actions}
	if len(rule.Match.DSCPs) > 0 {
		rest["conditions"] = object{container: object{"config": object{"dscp-set": codePoints(rule)}}}
	}
	return entry("id", strconv.Itoa(int(rule.Sequence)), nil, rest)
}

func codePoints(rule compile.Rule) []int {
	var out []int
	for _, d := range rule.Match.DSCPs {
		out = append(out, int(d))
	}
	return out
}

package junos

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// filters put packets into classes: a behaviour-aggregate classifier where DSCPs
// are all that is requested, a firewall filter everywhere else. Policers stand in
// filters' terms, so interfaces that differ in policers have filters of their own.
func (r *renderer) filters() {
	taken := map[string]string{}
	for _, f := range r.plan.Filters {
		for _, i := range f.Interfaces {
			if other, is := taken[i]; is {
				r.refuse("classes", "%s is in filters %s and %s, and Junos' order between them is not the policy's", i, other, f.Name)
			}
			taken[i] = f.Name
		}
		r.filter(f)
	}
	rest := compile.Filter{Name: "police"}
	for i, queues := range r.policer {
		if _, defaults := queues[r.defaultQueue().Name]; defaults && taken[i] == "" {
			rest.Interfaces = append(rest.Interfaces, i)
		}
	}
	slices.Sort(rest.Interfaces)
	r.filter(rest)
}

func (r *renderer) filter(f compile.Filter) {
	groups := map[string][]string{}
	for _, i := range f.Interfaces {
		if r.endsCircuits(portOf(i)) {
			continue
		}
		key := fmt.Sprint(r.policer[i]) // maps print in the order of their keys
		groups[key] = append(groups[key], i)
	}
	for n, key := range slices.Sorted(maps.Keys(groups)) {
		on, name := groups[key], owned(f.Name)
		if len(groups) > 1 {
			name = fmt.Sprintf("%s-%d", name, n+1)
		}
		policers, seen := r.policer[on[0]], f
		seen.Rules = slices.DeleteFunc(slices.Clone(f.Rules), func(rule compile.Rule) bool { return rule.Labelled })
		switch {
		case len(policers) > 0, !onlyDSCP(seen):
			r.firewall(name, seen, on, policers)
		case len(seen.Rules) > 0: // else labels alone say the class
			r.classifier(name, seen, on)
		}
		if arrivesLabelled(f) {
			for _, i := range on {
				r.expClassifier(portOf(i))
			}
		}
	}
}

// arrivesLabelled: the LSPs of others end or pass here, and packets on them show no address.
func arrivesLabelled(f compile.Filter) bool {
	return slices.ContainsFunc(f.Rules, func(r compile.Rule) bool { return f.Name == compile.FilterTransit && r.Pair+r.Circuit != "" })
}

func onlyDSCP(f compile.Filter) bool {
	return !slices.ContainsFunc(f.Rules, func(r compile.Rule) bool {
		m := r.Match
		return r.Pair+r.Circuit != "" || r.LSP != "" || r.Mark != nil || m.Src.IsValid() || m.Dst.IsValid() || m.Protocol != 0 || m.SrcPort != nil || m.DstPort != nil
	})
}

// classifier gives each of the 64 DSCPs to the first rule that wants it.
func (r *renderer) classifier(name string, f compile.Filter, on []string) {
	for code := range 64 {
		queue := r.defaultQueue().Name
		i := slices.IndexFunc(f.Rules, func(r compile.Rule) bool {
			return len(r.Match.DSCPs) == 0 || slices.Contains(r.Match.DSCPs, document.DSCP(code))
		})
		if i >= 0 {
			queue = f.Rules[i].Queue
		}
		for _, kind := range []string{"dscp", "dscp-ipv6"} {
			r.set("class-of-service classifiers %s %s forwarding-class %s loss-priority low code-points %06b", kind, name, owned(queue), code)
		}
	}
	for _, i := range on {
		at := portOf(i)
		for _, kind := range []string{"dscp", "dscp-ipv6"} {
			r.set("class-of-service interfaces %s unit %s classifiers %s %s", at.physical, at.unit, kind, name)
		}
	}
}

// family is an address family and its words.
type family struct {
	name, dscp, protocol string
	fits                 func(netip.Addr) bool
}

var families = []family{
	{"inet", "dscp", "protocol", netip.Addr.Is4},
	{"inet6", "traffic-class", "next-header", netip.Addr.Is6},
}

// firewall makes the filter in each family that has a rule.
func (r *renderer) firewall(name string, f compile.Filter, on []string, policers map[string]policer) {
	_, defaults := policers[r.defaultQueue().Name]
	for _, rule := range f.Rules {
		if !families[0].matches(rule.Match) && !families[1].matches(rule.Match) {
			r.refuse("classes.match", "rule %d of %s goes from %s to %s, which no packet does", rule.Sequence, f.Name, rule.Match.Src, rule.Match.Dst)
		}
	}
	for _, fam := range families {
		rules := slices.DeleteFunc(slices.Clone(f.Rules), func(rule compile.Rule) bool { return !fam.matches(rule.Match) })
		if len(rules) == 0 && !defaults {
			continue
		}
		r.terms(name, fam, rules, policers)
		for _, i := range on {
			at := portOf(i)
			r.set("interfaces %s unit %s family %s filter input %s", at.physical, at.unit, fam.name, name)
		}
	}
}

// matches is whether packets of the family can match: a rule without addresses is for both.
func (fam family) matches(m compile.Match) bool {
	return (!m.Src.IsValid() || fam.fits(m.Src.Addr())) && (!m.Dst.IsValid() || fam.fits(m.Dst.Addr()))
}

func (r *renderer) terms(filter string, fam family, rules []compile.Rule, policers map[string]policer) {
	s, names := "firewall family "+fam.name+" filter "+filter, map[string]bool{}
	r.set("%s interface-specific", s) // policers and counters are each interface's own
	for _, rule := range rules {
		if all := r.term(s, fam, rule, termName(rule, names), policers); all {
			return // nothing reaches the terms behind it
		}
	}
	r.term(s, fam, compile.Rule{Queue: r.defaultQueue().Name}, "rest", policers)
}

// term writes one, or two where a policer moves packets to another class: Juniper
// does not say which class wins inside one term, so the class is given first and
// the policer, in the next term, has the last word.
func (r *renderer) term(filter string, fam family, rule compile.Rule, name string, policers map[string]policer) (all bool) {
	s, class := filter+" term "+name, "then forwarding-class "+owned(r.queue(rule.Queue).Name)
	limit, limited := r.policerOf(rule, policers)
	if limit.moves {
		first := filter + " term queue-" + name
		r.from(first, fam, rule)
		r.set("%s %s", first, class)
		r.set("%s then next term", first)
	} else {
		r.set("%s %s", s, class)
	}
	all = r.from(s, fam, rule)
	if limited && limit.three {
		r.set("%s then three-color-policer two-rate %s", s, limit.name)
	} else if limited {
		r.set("%s then policer %s", s, limit.name)
	}
	r.then(s, fam, rule, name)
	return all
}

// termName keeps its name when rules before it come and go.
func termName(rule compile.Rule, taken map[string]bool) string {
	base := "class-" + rule.Class
	if rule.Pair != "" {
		base = "pair-" + rule.Pair
	}
	if rule.Circuit != "" {
		base = "circuit-" + rule.Circuit
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	taken[name] = true
	return name
}

// from writes the conditions; true: there are none.
func (r *renderer) from(s string, fam family, rule compile.Rule) (all bool) {
	m, all := rule.Match, true
	say := func(format string, args ...any) {
		all = false
		r.set("%s from %s", s, fmt.Sprintf(format, args...))
	}
	if m.Src.IsValid() {
		say("source-prefix-list %s", r.prefixList(m.Src))
	}
	if m.Dst.IsValid() {
		say("destination-prefix-list %s", r.prefixList(m.Dst))
	}
	for _, d := range m.DSCPs {
		say("%s %d", fam.dscp, d)
	}
	switch {
	case m.Protocol != 0:
		say("%s %d", fam.protocol, m.Protocol)
	case m.SrcPort != nil || m.DstPort != nil: // Junos looks at bytes 0 to 3 of any protocol otherwise
		say("%s tcp", fam.protocol)
		say("%s udp", fam.protocol)
	}
	if m.SrcPort != nil {
		say("source-port %s", m.SrcPort)
	}
	if m.DstPort != nil {
		say("destination-port %s", m.DstPort)
	}
	return all
}

func (r *renderer) then(s string, fam family, rule compile.Rule, counter string) {
	r.set("%s then count %s", s, counter)
	if rule.Mark != nil {
		r.set("%s then %s %d", s, fam.dscp, *rule.Mark)
	}
	if rule.LSP == "" {
		r.set("%s then accept", s)
		return
	}
	if fam.name != "inet" || !rule.Match.Dst.IsValid() {
		r.refuse("redirect.lsp", "an LSP carries IPv4 to a prefix that is known; rule %d has none", rule.Sequence)
		return
	}
	r.set("%s then routing-instance %s", s, rule.LSP)
	r.instance(rule.LSP, rule.Match.Dst)
}

// prefixList holds one prefix, named after it: rules that share a prefix share
// the list, and a list never changes.
func (r *renderer) prefixList(p netip.Prefix) string {
	name := owned(strings.NewReplacer("/", "-", ":", ".").Replace(p.String()))
	r.set("policy-options prefix-list %s %s", name, p)
	return name
}

// ribGroup copies the routes of interfaces into the instances: Junos resolves next hops in the table it forwards from.
const ribGroup = "te-redirect"

// instance is a table of its own for an LSP: what the filter sends there goes to
// the LSP, and where that is down the route is gone and the main table decides.
func (r *renderer) instance(lsp string, to netip.Prefix) {
	s := "routing-instances " + lsp
	r.set("%s instance-type forwarding", s)
	for _, one := range r.members(lsp) {
		r.set("%s routing-options static route %s lsp-next-hop %s", s, to, one)
	}
	r.set("%s routing-options static route 0.0.0.0/0 next-table inet.0", s)
	r.set("routing-options interface-routes rib-group inet %s", ribGroup)
	r.set("routing-options rib-groups %s import-rib inet.0", ribGroup)
	r.set("routing-options rib-groups %s import-rib %s.inet.0", ribGroup, lsp)
}

// lsps are RSVP LSPs over explicit hops. Hops are loopbacks, hence loose: the
// path was computed so that the IGP between them has no choice. The LSP is not
// installed for its end, or all BGP routes that resolve over it would follow.
func (r *renderer) lsps() {
	for _, l := range r.plan.LSPs {
		s := "protocols mpls label-switched-path " + l.Name
		r.set("%s to %s", s, l.Destination)
		r.set("%s no-install-to-address", s)
		r.set("%s no-cspf", s)
		r.set("%s primary %s", s, l.Name)
		for _, hop := range l.Hops {
			kind := "loose"
			if l.Link(hop) {
				kind = "strict"
			}
			r.set("protocols mpls path %s %s %s", l.Name, hop, kind)
		}
		if l.Link(l.Hops[len(l.Hops)-1]) {
			r.set("protocols mpls path %s %s loose", l.Name, l.Destination)
		}
	}
	r.sets()
}

// members are the LSPs of a set; a name that is no set's is that of an LSP.
func (r *renderer) members(name string) (out []string) {
	for _, s := range r.plan.Sets {
		if s.Name == name {
			for _, m := range s.Members {
				out = append(out, m.LSP)
			}
			return out
		}
	}
	return []string{name}
}

// sets share flows among LSPs in proportion to their bandwidth, which is the weight in kbit/s: next to nothing for RSVP
// to reserve. The export policy puts all next hops of a route into the forwarding table.
func (r *renderer) sets() {
	if len(r.plan.Sets) == 0 {
		return
	}
	weights := map[string]int{}
	for _, s := range r.plan.Sets {
		for _, m := range s.Members {
			if w, twice := weights[m.LSP]; twice && w != m.Weight {
				r.refuse("redirect.lsps.weight", "LSP %s has weight %d in one rule and %d in another, and here an LSP has one bandwidth; give both rules the same paths and weights", m.LSP, w, m.Weight)
				return
			}
			weights[m.LSP] = m.Weight
			r.set("protocols mpls label-switched-path %s bandwidth %dk", m.LSP, m.Weight)
		}
	}
	r.set("protocols rsvp load-balance bandwidth")
	r.set("policy-options policy-statement te-per-flow then load-balance per-flow")
	r.set("routing-options forwarding-table export te-per-flow")
}

package lint

import (
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/junosconf"
)

// Bounds of Junos' policers, bit/s and bytes (reference of bandwidth-limit and burst-size-limit).
const (
	minRate, minBurst = 8_000, 1_500
	maxLimit          = 100_000_000_000
)

func (l *linter) limit(where, text string, least uint64) uint64 {
	n, ok := junosconf.ParseQuantity(text)
	if !ok || n < least || n > maxLimit {
		l.add(Limit, where, "%q is not %d to %d", text, least, uint64(maxLimit))
	}
	return n
}

func (l *linter) policers() {
	for _, p := range l.firewall.List("policer") {
		where := "firewall policer " + p.Key()
		l.name("firewall policer", p.Key(), maxName)
		l.limit(where+" bandwidth-limit", p.In("if-exceeding").Leaf("bandwidth-limit"), minRate)
		l.limit(where+" burst-size-limit", p.In("if-exceeding").Leaf("burst-size-limit"), minBurst)
		l.class(where+" then forwarding-class", p.In("then").Leaf("forwarding-class"))
		then := p.In("then")
		if !then.Exists() || (then.Has("discard") && (then.Has("loss-priority") || then.Has("forwarding-class"))) {
			l.add(Action, where, "then must say one of discard, loss-priority and forwarding-class")
		}
	}
	for _, p := range l.firewall.List("three-color-policer") {
		where, r := "firewall three-color-policer "+p.Key(), p.In("two-rate")
		committed, peak := l.limit(where, r.Leaf("committed-information-rate"), minRate), l.limit(where, r.Leaf("peak-information-rate"), minRate)
		l.limit(where, r.Leaf("committed-burst-size"), minBurst)
		l.limit(where, r.Leaf("peak-burst-size"), minBurst)
		if committed > peak {
			l.add(Limit, where, "the committed rate is above the peak rate")
		}
	}
}

func (l *linter) filters() {
	for _, family := range []string{"inet", "inet6", "ccc"} {
		for _, f := range l.firewall.In("family", family).List("filter") {
			where := "firewall family " + family + " filter " + f.Key()
			l.name("firewall family "+family+" filter", f.Key(), maxFilterName)
			all := ""
			for _, term := range f.List("term") {
				if all != "" {
					l.add(Term, where+" term "+term.Key(), "term %s before it matches every packet", all)
				}
				if !term.In("from").Exists() && !term.In("then").Has("next") {
					all = term.Key()
				}
				l.term(where+" term "+term.Key(), term)
			}
			if all == "" {
				l.add(Term, where, "the last term does not match every packet; Junos discards what no term matches")
			}
		}
	}
}

func (l *linter) term(where string, term junosconf.View) {
	for _, list := range []string{"source-prefix-list", "destination-prefix-list"} {
		for _, ref := range term.In("from").List(list) {
			l.refer(where+" from "+list, ref.Key(), l.options, "prefix-list")
		}
	}
	then := term.In("then")
	l.class(where+" then forwarding-class", then.Leaf("forwarding-class"))
	l.refer(where+" then policer", then.Leaf("policer"), l.firewall, "policer")
	l.refer(where+" then three-color-policer two-rate", then.In("three-color-policer").Leaf("two-rate"), l.firewall, "three-color-policer")
	l.refer(where+" then routing-instance", then.In("routing-instance").Leaf("routing-instance-name"), l.instances, "instance")
	fates := 0
	for _, fate := range []string{"accept", "routing-instance", "next"} {
		if then.Has(fate) {
			fates++
		}
	}
	if fates != 1 {
		l.add(Action, where, "then must say one of accept, routing-instance and next term")
	}
	if then.Has("policer") && then.Has("three-color-policer") {
		l.add(Action, where, "a packet has one policer")
	}
}

func (l *linter) bindings() {
	for _, i := range l.cos.In("interfaces").List("interface") {
		where := "class-of-service interfaces " + i.Key()
		l.refer(where+" scheduler-map", i.Leaf("scheduler-map"), l.cos, "scheduler-maps")
		for _, u := range i.List("unit") {
			where := where + " unit " + u.Key()
			l.refer(where+" scheduler-map", u.Leaf("scheduler-map"), l.cos, "scheduler-maps")
			for _, kind := range []string{"dscp", "dscp-ipv6"} {
				for _, c := range u.In("classifiers").List(kind) {
					l.refer(where+" classifiers "+kind, c.Key(), l.cos.In("classifiers"), kind)
				}
			}
			l.refer(where+" classifiers exp", u.In("classifiers", "exp").Leaf("classifier-name"), l.cos.In("classifiers"), "exp")
			for _, kind := range []string{"dscp", "dscp-ipv6", "exp"} {
				for _, c := range u.In("rewrite-rules").List(kind) {
					l.refer(where+" rewrite-rules "+kind, c.Key(), l.cos.In("rewrite-rules"), kind)
				}
			}
		}
	}
	for _, i := range l.interfaces.List("interface") {
		for _, u := range i.List("unit") {
			for _, family := range []string{"inet", "inet6"} {
				where := "interfaces " + i.Key() + " unit " + u.Key() + " family " + family + " filter input"
				l.refer(where, u.In("family", family, "filter", "input").Leaf("filter-name"), l.firewall.In("family", family), "filter")
			}
			where := "interfaces " + i.Key() + " unit " + u.Key() + " family ccc filter input"
			l.refer(where, u.In("family", "ccc", "filter").Leaf("input"), l.firewall.In("family", "ccc"), "filter")
		}
	}
}

func (l *linter) paths() {
	for _, lsp := range l.mpls.List("label-switched-path") {
		where := "protocols mpls label-switched-path " + lsp.Key()
		l.name("protocols mpls label-switched-path", lsp.Key(), maxName)
		for _, p := range lsp.List("primary") {
			l.refer(where+" primary", p.Key(), l.mpls, "path")
			hops := l.mpls.Entry("path", p.Key()).List("path-list")
			if len(hops) > 0 && hops[len(hops)-1].Key() != lsp.Leaf("to") {
				l.add(Path, where, "path %s ends at %s, not at %s", p.Key(), hops[len(hops)-1].Key(), lsp.Leaf("to"))
			}
		}
	}
	for _, p := range l.mpls.List("path") {
		l.name("protocols mpls path", p.Key(), maxName)
		for _, hop := range p.List("path-list") {
			if hop.Has("strict") && hop.Has("loose") {
				l.add(Path, "protocols mpls path "+p.Key()+" "+hop.Key(), "the hop is both strict and loose")
			}
		}
	}
}

func (l *linter) instancesAndRibs() {
	tables := []string{"inet.0", "inet6.0"}
	for _, i := range l.instances.List("instance") {
		where := "routing-instances " + i.Key()
		tables = append(tables, i.Key()+".inet.0")
		for _, r := range i.In("routing-options", "static").List("route") {
			for _, lsp := range r.List("lsp-next-hop") {
				l.refer(where+" routing-options static route "+r.Key()+" lsp-next-hop", lsp.Key(), l.mpls, "label-switched-path")
			}
			if t := r.Leaf("next-table"); t != "" && !slices.Contains(tables, t) {
				l.add(Dangling, where+" next-table "+t, "there is no such table")
			}
		}
	}
	for _, r := range l.routing.List("rib-groups") {
		for _, t := range r.Values("import-rib") {
			if !slices.Contains(tables, t) {
				l.add(Dangling, "routing-options rib-groups "+r.Key()+" import-rib "+t, "there is no routing instance %s", strings.TrimSuffix(t, ".inet.0"))
			}
		}
	}
	l.refer("routing-options interface-routes rib-group inet", l.routing.In("interface-routes", "rib-group").Leaf("inet"), l.routing, "rib-groups")
}

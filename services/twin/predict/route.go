package predict

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/twin/engine"
)

// flow is a direction of a conversation as rules match it.
type flow struct {
	from, to         scenario.Host
	protocol         document.Protocol
	srcPort, dstPort uint16
	dscp             int
	number           int // for hashing over equal-cost paths
}

// mostHops is IP's largest time to live.
const mostHops = 255

// step is one direction of a link on the path.
type step struct{ out, in scenario.Endpoint }

// route walks a flow from host to host as its routers' plans have it.
func (b *builder) route(f flow) engine.Route {
	gate, _, _ := b.s.Attachment(f.from.Name)
	exit, _, _ := b.s.Attachment(f.to.Name)
	r := engine.Route{Hops: []engine.Hop{engine.At(b.ports[scenario.Endpoint{Node: f.from.Name, Interface: "eth0"}])}}
	at, in := gate.Node, gate
	steps := b.shortest(at, exit.Node, f.number)
	seen := map[string]bool{}
	for done := false; !done; {
		if state := fmt.Sprint(at, in, steps); seen[state] || len(seen) > mostHops {
			b.keep(fmt.Errorf("packets from %s to %s go in a loop, which comes by %s again: its LSPs lead to each other", f.from.Name, f.to.Name, at))
			return r
		} else {
			seen[state] = true
		}
		plan, managed := b.plans[at]
		var verdicts []decision
		if managed {
			verdicts = decide(plan, in.Interface, f)
			if lsp := verdicts[f.dscp&63].lsp; lsp != nil {
				steps = b.along(at, lsp, f.number)
			}
		}
		out := exit
		if len(steps) > 0 {
			out, in = steps[0].out, steps[0].in
			at, steps = in.Node, steps[1:]
		} else {
			done = true
		}
		r.Hops = append(r.Hops, b.hop(plan, managed, verdicts, out, r, f))
		if managed && verdicts[f.dscp&63].mark >= 0 {
			f.dscp = int(verdicts[f.dscp&63].mark)
		}
	}
	return r
}

// decision is what a router does with a flow's packets of one DSCP.
type decision struct {
	queue   int
	lsp     *compile.LSP
	mark    int8
	policer []compile.Policer
	on      string
}

// decide evaluates a router's filters on the interface of arrival, for each DSCP a packet may have.
func decide(plan compile.RouterPlan, in string, f flow) []decision {
	out := make([]decision, 64)
	for dscp := range out {
		d := decision{queue: defaultQueue(plan), mark: -1, on: in}
		for _, filter := range plan.Filters {
			if !slices.Contains(filter.Interfaces, in) {
				continue
			}
			if i := slices.IndexFunc(filter.Rules, func(r compile.Rule) bool { return matches(r.Match, f, dscp) }); i >= 0 {
				rule := filter.Rules[i]
				d.queue = queueIndex(plan, rule.Queue)
				if rule.Mark != nil {
					d.mark = int8(*rule.Mark)
				}
				d.lsp = lspOf(plan, rule.LSP, f)
			}
		}
		for _, p := range plan.Policers {
			if slices.Contains(p.Interfaces, in) && queueIndex(plan, p.Queue) == d.queue {
				d.policer = append(d.policer, p)
			}
		}
		out[dscp] = d
	}
	return out
}

// lspOf is an LSP by its name, or the one that a flow takes of a set.
func lspOf(plan compile.RouterPlan, name string, f flow) *compile.LSP {
	if i := slices.IndexFunc(plan.Sets, func(s compile.Set) bool { return s.Name == name }); i >= 0 {
		name = memberOf(plan.Sets[i], f.number)
	}
	if j := slices.IndexFunc(plan.LSPs, func(l compile.LSP) bool { return l.Name == name }); j >= 0 {
		return &plan.LSPs[j]
	}
	return nil
}

// memberOf is the LSP that a flow hashes to, by weight.
func memberOf(s compile.Set, number int) string {
	total := 0
	for _, m := range s.Members {
		total += m.Weight
	}
	at := int(uint32(number)*2654435761>>8) % total
	for _, m := range s.Members {
		if at -= m.Weight; at < 0 {
			return m.LSP
		}
	}
	return ""
}

func matches(m compile.Match, f flow, dscp int) bool {
	within := func(p netip.Prefix, a netip.Addr) bool { return !p.IsValid() || p.Contains(a) }
	port := func(r *document.PortRange, p uint16) bool { return r == nil || p >= r.First && p <= r.Last }
	return within(m.Src, f.from.Address.Addr()) && within(m.Dst, f.to.Address.Addr()) &&
		(len(m.DSCPs) == 0 || slices.Contains(m.DSCPs, document.DSCP(dscp))) &&
		(m.Protocol == 0 || m.Protocol == f.protocol) && port(m.SrcPort, f.srcPort) && port(m.DstPort, f.dstPort)
}

// hop is the step out of a router, with queue, mark and policer from its plan.
func (b *builder) hop(plan compile.RouterPlan, managed bool, verdicts []decision, out scenario.Endpoint, _ engine.Route, f flow) engine.Hop {
	h := engine.At(b.ports[out])
	if !managed {
		return h
	}
	now := verdicts[f.dscp&63]
	h.Mark = now.mark
	if len(now.policer) > 0 {
		h.Policer = b.policer(plan, now.policer[0], now.on)
	}
	if _, s := b.net.Port(h.Port); s == nil {
		return h
	}
	h.Queue = uint8(now.queue)
	// A policer upstream may have written another DSCP: the queue is looked up packet by packet where it matters.
	if now.mark < 0 && slices.ContainsFunc(verdicts, func(d decision) bool { return d.queue != now.queue }) {
		h.Classes = &engine.DSCPMap{}
		for dscp, d := range verdicts {
			h.Classes[dscp] = uint8(d.queue)
		}
	}
	return h
}

// along follows an LSP: the shortest path to each of its hops in turn, or the link that a hop is.
func (b *builder) along(from string, lsp *compile.LSP, number int) []step {
	var path []step
	for _, loopback := range lsp.Hops {
		if s, ok := b.linkTo(loopback); ok && lsp.Link(loopback) {
			path, from = append(path, s), s.in.Node
			continue
		}
		for _, r := range b.s.Routers {
			if r.Loopback() == loopback {
				path = append(path, b.shortest(from, r.Name, number)...)
				from = r.Name
			}
		}
	}
	return path
}

// linkTo is the link whose far end has an address.
func (b *builder) linkTo(far netip.Addr) (step, bool) {
	for _, l := range b.s.Links {
		for _, s := range []step{{l.A, l.B}, {l.B, l.A}} {
			if b.s.BetweenRouters(l) && b.s.InterfaceAddress(s.in).Addr() == far {
				return s, true
			}
		}
	}
	return step{}, false
}

// shortest walks to the destination; among equal-cost next hops a flow keeps the one its number hashes to.
// It decides hop by hop, as routers do. It shares no code with services/paths, because tests compare the
// two.
func (b *builder) shortest(from, to string, number int) []step {
	var path []step
	for at := from; at != to; {
		if b.stopped() {
			return nil
		}
		var next []step
		best := -1
		for _, l := range b.s.Links {
			if !b.s.BetweenRouters(l) {
				continue
			}
			for _, s := range []step{{l.A, l.B}, {l.B, l.A}} {
				if s.out.Node != at {
					continue
				}
				d, ok := b.distance(s.in.Node, to)
				switch cost := d + b.cost(s.out, l); {
				case !ok:
				case best < 0 || cost < best:
					best, next = cost, []step{s}
				case cost == best:
					next = append(next, s)
				}
			}
		}
		if len(next) == 0 {
			b.keep(errNoPath(from, to))
			return nil
		}
		s := next[number*2654435761>>7%len(next)]
		path = append(path, s)
		at = s.in.Node
	}
	return path
}

// stopped: there is no time left, and what is built is not used.
func (b *builder) stopped() bool {
	b.keep(b.ctx.Err())
	return b.err != nil && errors.Is(b.err, b.ctx.Err())
}

// cost of a link in the direction that leaves at one end.
func (b *builder) cost(out scenario.Endpoint, l scenario.Link) int {
	if c, changed := b.costs[out]; changed {
		return c
	}
	return l.Cost
}

// distance is Bellman and Ford's; a scenario has few routers.
func (b *builder) distance(from, to string) (int, bool) {
	d := map[string]int{to: 0}
	for range b.s.Routers {
		for _, l := range b.s.Links {
			if !b.s.BetweenRouters(l) {
				continue
			}
			for _, s := range []step{{l.A, l.B}, {l.B, l.A}} {
				far, ok := d[s.in.Node]
				cost := b.cost(s.out, l)
				if near, known := d[s.out.Node]; ok && (!known || far+cost < near) {
					d[s.out.Node] = far + cost
				}
			}
		}
	}
	v, ok := d[from]
	return v, ok
}

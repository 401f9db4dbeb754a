package plan

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// network is the scenario's topology as the compiler wants it: what
// collectors/topology would have read from the routers.
func network(s *scenario.Scenario) compile.Input {
	var in compile.Input
	for _, r := range s.Routers {
		management := s.ManagementAddress(r.Name)
		node := compile.Router{Name: r.Name, Managed: r.Agent, Loopback: r.Loopback(), Management: management, Interfaces: []compile.Interface{
			{Name: "lo", Addresses: []netip.Prefix{netip.PrefixFrom(r.Loopback(), 32)}},
			{Name: "mgmt0", Addresses: []netip.Prefix{netip.PrefixFrom(management, 24)}},
		}}
		for _, l := range s.Links {
			for _, e := range []scenario.Endpoint{l.A, l.B} {
				if e.Node == r.Name {
					node.Interfaces = append(node.Interfaces, compile.Interface{
						Name: e.Interface, Addresses: []netip.Prefix{s.InterfaceAddress(e)}, Speed: l.Rate,
					})
				}
			}
		}
		in.Routers = append(in.Routers, node)
	}
	for _, h := range hops(s) {
		in.Links = append(in.Links, compile.Link{ID: h.id(), From: h.from.Node, To: h.to.Node,
			Egress: h.from.Interface, Ingress: h.to.Interface, Bandwidth: h.link.Rate})
	}
	return in
}

// hop is one direction of a link between routers.
type hop struct {
	from, to scenario.Endpoint
	link     scenario.Link
}

func (h hop) id() string { return h.from.String() + ">" + h.to.String() }

func hops(s *scenario.Scenario) []hop {
	var out []hop
	for _, l := range s.Links {
		if s.BetweenRouters(l) {
			out = append(out, hop{l.A, l.B, l}, hop{l.B, l.A, l})
		}
	}
	return out
}

// pairs maps the scenario's pairs to the routers their hosts are attached to.
func pairs(s *scenario.Scenario, use *scenario.PolicyUse, rule int) []compile.Pair {
	var out []compile.Pair
	for _, p := range s.Pairs {
		if len(use.Pairs) > 0 && !slices.Contains(use.Pairs, p.Name) {
			continue
		}
		from, _ := s.Host(p.From)
		to, _ := s.Host(p.To)
		ingress, _, _ := s.Attachment(p.From)
		egress, _, _ := s.Attachment(p.To)
		pair := compile.Pair{ID: p.Name, Src: from.Address.Masked(), Dst: to.Address.Masked(), Ingress: ingress.Node, Egress: egress.Node, Redirect: rule}
		if p.Count == 0 {
			out = append(out, pair)
		}
		for i := range p.Count {
			pair.ID, pair.Src, pair.Dst = fmt.Sprintf("%s-%d", p.Name, i), nobody(64, i), nobody(128, i)
			out = append(out, pair)
		}
	}
	return out
}

// between maps the pairs that a policy lists to the routers whose hosts have the prefixes.
func between(s *scenario.Scenario, policy document.Policy) []compile.Pair {
	at := func(p netip.Prefix) string {
		for _, h := range s.Hosts {
			if h.Address.Masked() == p {
				gate, _, _ := s.Attachment(h.Name)
				return gate.Node
			}
		}
		return ""
	}
	out := compile.Between(policy)
	for i := range out {
		if out[i].Ingress, out[i].Egress = at(out[i].Src), at(out[i].Dst); out[i].Ingress == "" || out[i].Egress == "" {
			out[i].Unmapped = "no two hosts of the scenario have its prefixes as their subnets"
		}
	}
	return out
}

// nobody is the n-th /24 from 10.<first>.0.0 on, where no host of a lab is.
func nobody(first, n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(first + n>>8), byte(n), 0}), 24)
}

// paths answers demands for LSPs with the cheapest path, or the cheapest that
// shares no link with it.
func paths(s *scenario.Scenario, demands []compile.Demand) (map[compile.Demand]compile.Path, map[compile.Demand]string) {
	found, none := map[compile.Demand]compile.Path{}, map[compile.Demand]string{}
	for _, d := range demands {
		path, reason := cheapest(s, d.From, d.To, nil), "the shortest path"
		switch {
		case d.LSP.Set():
			none[d] = "a scenario has paths by hand; write lsps: instead of paths:"
			continue
		case d.Via != "":
			path, reason = along(s, d.Routers()), "the path that the policy names"
		}
		if path == nil {
			none[d] = fmt.Sprintf("the scenario has no path from %s to %s", d.From, d.To)
			continue
		}
		if d.LSP.AvoidShortest {
			var avoid []string
			for _, h := range path {
				avoid = append(avoid, h.id())
			}
			if other := cheapest(s, d.From, d.To, avoid); other != nil {
				path, reason = other, "avoids the shortest path"
			}
		}
		found[d] = pathOf(s, path, reason)
	}
	return found, none
}

// ecmp answers for pairs that stay on the IGP's path. Where several are equally
// short a scenario would have to say more; none has yet.
func ecmp(s *scenario.Scenario, between []compile.RouterPair) (map[compile.RouterPair][]compile.Path, map[compile.RouterPair]string) {
	found, none := map[compile.RouterPair][]compile.Path{}, map[compile.RouterPair]string{}
	for _, e := range between {
		if path := cheapest(s, e.From, e.To, nil); path != nil {
			found[e] = []compile.Path{pathOf(s, path, "the shortest path")}
		} else {
			none[e] = fmt.Sprintf("the scenario has no path from %s to %s", e.From, e.To)
		}
	}
	return found, none
}

// along is the path of a list of routers; nil if two of them have no link.
func along(s *scenario.Scenario, routers []string) (path []hop) {
	for i, name := range routers[1:] {
		list := hops(s)
		at := slices.IndexFunc(list, func(h hop) bool { return h.from.Node == routers[i] && h.to.Node == name })
		if at < 0 {
			return nil
		}
		path = append(path, list[at])
	}
	return path
}

// pinned: the IGP has no other path to the far end of a link that is as cheap.
func pinned(s *scenario.Scenario, h hop) bool {
	cost := 0
	for _, o := range cheapest(s, h.from.Node, h.to.Node, []string{h.id()}) {
		cost += o.link.Cost
	}
	return cost == 0 || cost > h.link.Cost
}

// pathOf pins every hop by itself: by a node SID, or where the IGP would take another path, by the link.
func pathOf(s *scenario.Scenario, path []hop, reason string) compile.Path {
	p := compile.Path{Nodes: []string{path[0].from.Node}, Reason: reason}
	for _, h := range path {
		r, _ := s.Router(h.to.Node)
		p.Nodes, p.Links = append(p.Nodes, h.to.Node), append(p.Links, h.id())
		if pinned(s, h) {
			p.Segments = append(p.Segments, r.Loopback())
		} else {
			far := s.InterfaceAddress(h.to).Addr()
			p.Segments, p.Adjacencies = append(p.Segments, far), append(p.Adjacencies, far)
		}
		if p.Bottleneck == 0 || h.link.Rate < p.Bottleneck {
			p.Bottleneck = h.link.Rate
		}
	}
	return p
}

// cheapest tries every path without a loop; a lab has few routers. Of equal
// costs the first in the file's order stays.
func cheapest(s *scenario.Scenario, from, to string, avoid []string) []hop {
	var best []hop
	least := 0
	var walk func(at string, path []hop, cost int)
	walk = func(at string, path []hop, cost int) {
		if at == to {
			if best == nil || cost < least {
				best, least = slices.Clone(path), cost
			}
			return
		}
		for _, h := range hops(s) {
			seen := h.to.Node == from || slices.ContainsFunc(path, func(w hop) bool { return w.to.Node == h.to.Node })
			if h.from.Node == at && !seen && !slices.Contains(avoid, h.id()) {
				walk(h.to.Node, append(path, h), cost+h.link.Cost)
			}
		}
	}
	walk(from, nil, 0)
	return best
}

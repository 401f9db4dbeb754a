package topo

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Graph is an immutable, indexed topology. Only links whose far end links back
// are in it: OSPF does not forward over others (RFC 2328 section 16.1 step 2b).
type Graph struct {
	nodes []*Node
	byID  map[netip.Addr]*Node
	out   map[netip.Addr][]*Link
	links map[string]*Link
}

// NewGraph joins snapshots of one or more areas. An area border router is one node; where areas differ
// about it, the first area that has the value wins.
func NewGraph(snapshots ...Snapshot) *Graph {
	g := &Graph{byID: map[netip.Addr]*Node{}, out: map[netip.Addr][]*Link{}, links: map[string]*Link{}}
	for _, s := range snapshots {
		for _, n := range s.Nodes {
			g.addNode(n)
		}
	}
	for _, s := range snapshots {
		g.addLinks(s.Links)
	}
	for _, n := range g.byID {
		g.nodes = append(g.nodes, n)
	}
	slices.SortFunc(g.nodes, func(a, b *Node) int { return a.ID.Compare(b.ID) })
	for _, links := range g.out {
		slices.SortFunc(links, compareLinks)
	}
	return g
}

func compareLinks(a, b *Link) int {
	return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To), strings.Compare(a.ID, b.ID))
}

func (g *Graph) addNode(n Node) {
	old, ok := g.byID[n.ID]
	if !ok {
		g.byID[n.ID] = &n
		return
	}
	old.Name = cmp.Or(old.Name, n.Name)
	old.SIDLabel = cmp.Or(old.SIDLabel, n.SIDLabel)
	if !old.Loopback.IsValid() {
		old.Loopback = n.Loopback
	}
	// Appending in place could write into the snapshot that the slice came from.
	old.Prefixes = append(slices.Clone(old.Prefixes), n.Prefixes...)
	if len(old.Interfaces) == 0 {
		old.Interfaces = n.Interfaces
	}
}

func (g *Graph) addLinks(links []Link) {
	type pair struct{ from, to netip.Addr }
	known := map[pair]bool{}
	for _, l := range links {
		known[pair{l.From, l.To}] = true
	}
	for _, l := range links {
		if !known[pair{l.To, l.From}] || g.byID[l.From] == nil || g.byID[l.To] == nil || g.links[l.ID] != nil {
			continue
		}
		// A cost of 0 is not allowed and would make loops of cost 0.
		l.Metric = max(l.Metric, 1)
		g.links[l.ID] = &l
		g.out[l.From] = append(g.out[l.From], &l)
	}
}

// Nodes lists all routers by router id.
func (g *Graph) Nodes() []*Node { return g.nodes }

// Node finds a router by router id; nil where there is none.
func (g *Graph) Node(id netip.Addr) *Node { return g.byID[id] }

// Out lists the links that leave a router, in a fixed order.
func (g *Graph) Out(id netip.Addr) []*Link { return g.out[id] }

// Link finds a link by its id; nil where there is none.
func (g *Graph) Link(id string) *Link { return g.links[id] }

// Links lists all links in a fixed order.
func (g *Graph) Links() []*Link {
	out := make([]*Link, 0, len(g.links))
	for _, l := range g.links {
		out = append(out, l)
	}
	slices.SortFunc(out, compareLinks)
	return out
}

// Resolve finds a router by name, router id or loopback.
func (g *Graph) Resolve(s string) (*Node, error) {
	addr, notAddress := netip.ParseAddr(s)
	for _, n := range g.nodes {
		if s != "" && n.Name == s {
			return n, nil
		}
		if notAddress == nil && (n.ID == addr || n.Loopback == addr) {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no router %q in the topology; it has %s", s, g.labels())
}

func (g *Graph) labels() string {
	if len(g.nodes) == 0 {
		return "none yet: is collectors/topology running and are routers reachable?"
	}
	const few = 12
	var names []string
	for _, n := range g.nodes[:min(few, len(g.nodes))] {
		names = append(names, n.Label())
	}
	if len(g.nodes) > few {
		names = append(names, fmt.Sprintf("and %d more", len(g.nodes)-few))
	}
	return strings.Join(names, ", ")
}

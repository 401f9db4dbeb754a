package compute

import (
	"net/netip"

	"github.com/millrace/millrace/internal/topo"
)

// Path is one way through the network.
type Path struct {
	// Nodes in order, ends included.
	Nodes []*topo.Node
	Links []*topo.Link
	// Cost is the sum of IGP metrics.
	Cost uint64
	// Bottleneck is the narrowest link's bandwidth in bit/s; 0 where a link's is unknown.
	Bottleneck uint64
	// Segments pin the path: packets that go by shortest path to each loopback, and over each of Adjacencies, follow
	// Links and nothing else.
	Segments []netip.Addr
	// Adjacencies are those of Segments that are adjacency SIDs: the address of the link's far end.
	Adjacencies []netip.Addr
	// Reason says, for people, why it is this path.
	Reason string
}

// addSegment goes over a link, or to a router.
func (p *Path) addSegment(g *topo.Graph, over *topo.Link, to netip.Addr) {
	if over != nil {
		p.Segments, p.Adjacencies = append(p.Segments, over.RemoteAddress), append(p.Adjacencies, over.RemoteAddress)
		return
	}
	p.Segments = append(p.Segments, g.Node(to).Loopback)
}

// newPath has one link at least.
func newPath(g *topo.Graph, from *topo.Node, links []*topo.Link) *Path {
	p := &Path{Nodes: []*topo.Node{from}, Links: links, Bottleneck: links[0].Bandwidth}
	for _, l := range links {
		p.Nodes = append(p.Nodes, g.Node(l.To))
		p.Cost += uint64(l.Metric)
		p.Bottleneck = min(p.Bottleneck, l.Bandwidth)
	}
	return p
}

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
	// Segments are loopbacks; forwarding by shortest path from each to the next follows Links and nothing else.
	Segments []netip.Addr
	// Reason says, for people, why it is this path.
	Reason string
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

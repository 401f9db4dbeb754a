package graph

import "slices"

// Metric is what a search adds up.
type Metric uint8

// The metrics.
const (
	IGP Metric = iota
	TE
	// Delay counts microseconds.
	Delay
	// Hops counts links.
	Hops
	metrics
)

// String names a metric as requests do.
func (m Metric) String() string {
	if m >= metrics {
		return "unknown metric"
	}
	return [metrics]string{"IGP metric", "TE metric", "delay", "hops"}[m]
}

// Nodes is how many nodes there are; they are numbered from 0.
func (g *Graph) Nodes() int { return len(g.nodes) }

// Links is how many links there are; they are numbered from 0.
func (g *Graph) Links() int { return len(g.links) }

// Node describes a node.
func (g *Graph) Node(n int32) Node { return g.nodes[n] }

// Link describes a link. Its SRLGs are the graph's own: read only.
func (g *Graph) Link(l int32) Link { return g.links[l] }

// NodeIndex finds a node by id.
func (g *Graph) NodeIndex(id string) (int32, bool) { n, ok := g.byNode[id]; return n, ok }

// LinkIndex finds a link by id.
func (g *Graph) LinkIndex(id string) (int32, bool) { l, ok := g.byLink[id]; return l, ok }

// Out is the range of links that leave a node: from first up to, not including, end.
func (g *Graph) Out(n int32) (first, end int32) { return g.first[n], g.first[n+1] }

// In lists the links that enter a node. Read only.
func (g *Graph) In(n int32) []int32 { return g.into[g.intoFirst[n]:g.intoFirst[n+1]] }

// From is the node that a link leaves.
func (g *Graph) From(l int32) int32 { return g.from[l] }

// To is the node that a link enters.
func (g *Graph) To(l int32) int32 { return g.to[l] }

// Weights are the values of a metric, by link. Read only.
func (g *Graph) Weights(m Metric) []uint32 { return g.weights[m] }

// Capacity of a link in bit/s; 0 where unknown.
func (g *Graph) Capacity(l int32) int64 { return g.links[l].Capacity }

// SRLGs are all shared risk link groups, in rising order. Read only.
func (g *Graph) SRLGs() []uint32 { return g.srlgs }

// Members are the links of a shared risk link group. Read only.
func (g *Graph) Members(srlg uint32) []int32 {
	if at, ok := slices.BinarySearch(g.srlgs, srlg); ok {
		return g.members[at]
	}
	return nil
}

// Raw is the graph as bare arrays, for the inner loops of the searches beside this package. Read only.
type Raw struct {
	// First has one entry more than there are nodes: links First[n] up to First[n+1] leave n.
	First []int32
	// Into are the links that enter nodes, those of n from IntoFirst[n] up to IntoFirst[n+1].
	Into, IntoFirst []int32
	// From and To are the ends of links.
	From, To []int32
}

// Raw gives the arrays.
func (g *Graph) Raw() Raw {
	return Raw{First: g.first, Into: g.into, IntoFirst: g.intoFirst, From: g.from, To: g.to}
}

// Affinity bits of a link.
func (g *Graph) Affinity(l int32) uint64 { return g.links[l].Affinity }

// Risks are the shared risk link groups of a link, in rising order. Read only.
func (g *Graph) Risks(l int32) []uint32 { return g.links[l].SRLGs }

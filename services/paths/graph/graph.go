// Package graph is the network that paths are searched on: routers and links as dense numbers, their attributes in
// arrays beside each other, nothing to look up by address on the way.
//
// In: a topo.Graph, the text of a REPETITA .graph file, or lists of nodes and links. Out: an immutable Graph. Next: the
// searches of services/paths.
//
// A link is one direction. The links that leave a router are a range of numbers (compressed sparse rows), ordered by
// far end and then by id, so that equal input gives equal numbers and ties fall the same way in every search.
//
// Nothing here has a clock, a network or a goroutine.
//
// Mutation testing: 93 of 95 killed (docs/reference/mutants.md).
package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// DelayUnknown is the delay of a link whose delay was not given. It meets no bound.
const DelayUnknown = math.MaxUint32

// MaxNodes is the most routers that a graph has: then the sum of a metric along any path without a loop takes at most
// 47 bits, and a search can keep a number of links, or of a node, in the rest of a word of 64.
const MaxNodes = 1 << 15

// Node is one router.
type Node struct {
	// ID is unique: the router id, or the label of a file.
	ID string
	// Name is what people call it; the ID where there is no other.
	Name string
}

// Link is one direction of an adjacency; several may run between the same two routers.
type Link struct {
	// ID is unique.
	ID string
	// From and To are numbers of nodes.
	From, To int32
	// IGP and TE are metrics, at least 1; a TE metric of 0 is the IGP's.
	IGP, TE uint32
	// Delay in microseconds, or DelayUnknown.
	Delay uint32
	// Capacity in bit/s; 0 where unknown.
	Capacity int64
	// Affinity has a bit per administrative group (RFC 3630 section 2.5.9, RFC 7308).
	Affinity uint64
	// SRLGs are shared risk link groups (RFC 4203 section 1.3), each once, in rising order.
	SRLGs []uint32
}

// Graph is an immutable network.
type Graph struct {
	shape
	links   []Link
	weights [metrics][]uint32
	srlgs   []uint32  // all groups, in rising order
	members [][]int32 // the links of each
}

// shape is how nodes and links hang together, without their attributes.
type shape struct {
	nodes []Node
	// first[n] is the first link that leaves n; first[n+1] is behind the last.
	first []int32
	// into are the links that enter nodes, those of n from intoFirst[n] to intoFirst[n+1].
	into, intoFirst []int32
	from, to        []int32
	byNode, byLink  map[string]int32
}

// New makes a graph. It does not keep the slices.
func New(nodes []Node, links []Link) (*Graph, error) {
	if len(nodes) > MaxNodes || len(links) > math.MaxInt32-1 {
		return nil, fmt.Errorf("%d nodes and %d links: at most %d and %d", len(nodes), len(links), MaxNodes, math.MaxInt32-1)
	}
	links = slices.Clone(links)
	for i := range links {
		if err := complete(&links[i], len(nodes)); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.ID, b.ID))
	})
	s, err := newShape(nodes, links)
	if err != nil {
		return nil, err
	}
	return newGraph(s, links), nil
}

// complete checks a link and fills in what follows from the rest.
func complete(l *Link, nodes int) error {
	n := int32(nodes)
	switch {
	case l.From < 0 || l.From >= n || l.To < 0 || l.To >= n:
		return fmt.Errorf("link %q runs from node %d to node %d; there are %d nodes", l.ID, l.From, l.To, n)
	case l.From == l.To:
		return fmt.Errorf("link %q ends where it begins, at node %d", l.ID, l.From)
	case l.IGP == 0:
		return fmt.Errorf("link %q has an IGP metric of 0; the least is 1", l.ID)
	case l.Capacity < 0:
		return fmt.Errorf("link %q has a capacity of %d bit/s", l.ID, l.Capacity)
	}
	l.TE = cmp.Or(l.TE, l.IGP)
	l.SRLGs = slices.Clone(l.SRLGs)
	slices.Sort(l.SRLGs)
	l.SRLGs = slices.Compact(l.SRLGs)
	return nil
}

// newShape takes links in order.
func newShape(nodes []Node, links []Link) (shape, error) {
	s := shape{
		nodes: slices.Clone(nodes), byNode: make(map[string]int32, len(nodes)), byLink: make(map[string]int32, len(links)),
		first: make([]int32, len(nodes)+1), intoFirst: make([]int32, len(nodes)+1),
		from: make([]int32, len(links)), to: make([]int32, len(links)), into: make([]int32, len(links)),
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		if _, twice := s.byNode[n.ID]; twice {
			return s, fmt.Errorf("two nodes are called %q", n.ID)
		}
		s.byNode[n.ID] = int32(i)
		n.Name = cmp.Or(n.Name, n.ID)
	}
	for i, l := range links {
		if _, twice := s.byLink[l.ID]; twice {
			return s, fmt.Errorf("two links are called %q", l.ID)
		}
		s.byLink[l.ID] = int32(i)
		s.from[i], s.to[i] = l.From, l.To
		s.first[l.From+1]++
		s.intoFirst[l.To+1]++
	}
	s.fill()
	return s, nil
}

// fill turns counts into ranges.
func (s *shape) fill() {
	for n := range s.nodes {
		s.first[n+1] += s.first[n]
		s.intoFirst[n+1] += s.intoFirst[n]
	}
	next := slices.Clone(s.intoFirst)
	for l, to := range s.to {
		s.into[next[to]] = int32(l)
		next[to]++
	}
}

func newGraph(s shape, links []Link) *Graph {
	g := &Graph{shape: s, links: links}
	for m := range g.weights {
		g.weights[m] = make([]uint32, len(links))
	}
	for i, l := range links {
		g.weights[IGP][i], g.weights[TE][i], g.weights[Delay][i], g.weights[Hops][i] = l.IGP, l.TE, l.Delay, 1
		g.srlgs = append(g.srlgs, l.SRLGs...)
	}
	slices.Sort(g.srlgs)
	g.srlgs = slices.Clip(slices.Compact(g.srlgs))
	g.members = make([][]int32, len(g.srlgs))
	for i, l := range links {
		for _, group := range l.SRLGs {
			at, _ := slices.BinarySearch(g.srlgs, group)
			g.members[at] = append(g.members[at], int32(i))
		}
	}
	return g
}

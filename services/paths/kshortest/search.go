// Package kshortest lists the paths between two routers from the best on, none with a loop.
//
// In: a graph.Graph, a metric, the links that may be used, two ends. Out: paths in the order of their cost, then of
// their number of links, one after another for as long as the caller asks. Next: services/paths/disjoint, and any
// package that splits a demand over several paths.
//
// The method is Yen's, with Lawler's change (a path deviates only behind the point where it left its parent) on a tree
// of the paths found, and three things that make it fast. One tree of shortest paths towards the end serves all starts,
// and is a lower bound for what any deviation still costs. A deviation whose tree path does not run into its own
// beginning is the best one, so that nothing has to be searched. The others wait with their lower bound, and are
// searched (A*) only if their turn comes.
//
// Nothing here has a clock, a network or a goroutine, and equal input gives equal output.
//
// Mutation testing: 81 of 81 killed (docs/reference/mutants.md).
package kshortest

import (
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/spf"
)

// Path is one way. Its links belong to the Search until the next call of Next or From.
type Path struct {
	Links []int32
	Cost  int64
}

// Search lists paths towards one router. Its zero value is ready for Towards; its memory is kept from one use to the
// next, so that listing paths allocates nothing once it has grown.
type Search struct {
	g       *graph.Graph
	raw     graph.Raw
	weights []uint32
	usable  []bool
	to      int32

	// least and next are the tree: what a node needs to the end, and over which link it goes if it gets there.
	least []uint64
	next  []int32

	vertices   []vertex
	candidates []candidate
	queue      spf.Queue // of candidates
	explicit   []int32   // links of candidates that leave the tree
	links      []int32   // of the path that Next returned

	// The nodes that a deviation may not enter have blocked == block, the links that it may not begin with
	// taken == block, and the nodes that a search has reached seen == block.
	block   uint32
	blocked []uint32
	taken   []uint32
	seen    []uint32
	key     []uint64
	via     []int32
	open    spf.Queue // of nodes
}

// vertex is where paths found so far lead through: the last node of one beginning.
type vertex struct {
	key    uint64 // of the beginning
	node   int32
	link   int32 // into it, but for the start
	parent int32 // -1 at the start
	// child is the latest vertex behind this one, beside links to the one before it.
	child, beside int32
}

// candidate is the best path, or a bound for it, that leaves the known ones at a vertex.
type candidate struct {
	at          int32
	first, last int32 // of explicit: links behind the vertex; from there on it follows the tree
	exact       bool
}

// Towards makes the tree of shortest paths to a router over the usable links (nil: all).
func (s *Search) Towards(g *graph.Graph, m graph.Metric, usable []bool, to int32) {
	s.Weighted(g, g.Weights(m), usable, to)
}

// Weighted is Towards with a weight per link of the caller's.
func (s *Search) Weighted(g *graph.Graph, weights []uint32, usable []bool, to int32) {
	s.g, s.raw, s.weights, s.usable, s.to = g, g.Raw(), weights, usable, to
	n := g.Nodes()
	if len(s.least) != n || len(s.taken) < g.Links() {
		s.least, s.next = make([]uint64, n), make([]int32, n)
		s.blocked, s.seen, s.key, s.via = make([]uint32, n), make([]uint32, n), make([]uint64, n), make([]int32, n)
		s.taken, s.block = make([]uint32, g.Links()), 0
	}
	for i := range s.least {
		s.least[i] = spf.Unreached
	}
	s.clear()
	s.least[to] = 0
	q := s.open[:0]
	q.Push(spf.Entry{ID: to})
	for len(q) > 0 {
		at := q.Pop()
		if at.Key > s.least[at.ID] {
			continue
		}
		for _, l := range g.In(at.ID) {
			from, key := s.raw.From[l], at.Key+spf.Key(s.weights[l])
			if key < s.least[from] && s.may(l) {
				s.least[from], s.next[from] = key, l
				q.Push(spf.Entry{Key: key, ID: from})
			}
		}
	}
	s.open = q
}

func (s *Search) may(l int32) bool { return s.usable == nil || s.usable[l] }

// Least is the least cost from a node to the end; false where no path leads there.
func (s *Search) Least(from int32) (int64, bool) {
	return int64(s.least[from] >> 16), s.least[from] != spf.Unreached
}

func (s *Search) clear() {
	s.vertices, s.candidates, s.queue = s.vertices[:0], s.candidates[:0], s.queue[:0]
	s.explicit, s.links = s.explicit[:0], s.links[:0]
}

// From begins to list the paths from a node. From the end itself there are none.
func (s *Search) From(from int32) {
	s.clear()
	if s.least[from] == spf.Unreached || from == s.to {
		return
	}
	s.vertices = append(s.vertices, vertex{node: from, parent: -1, child: -1})
	s.offer(candidate{exact: true}, s.least[from])
}

func (s *Search) offer(c candidate, key uint64) {
	s.queue.Push(spf.Entry{Key: key, ID: int32(len(s.candidates))})
	s.candidates = append(s.candidates, c)
}

// Next is the next path; false where there is no further one.
func (s *Search) Next() (Path, bool) {
	for len(s.queue) > 0 {
		top := s.queue.Pop()
		c := s.candidates[top.ID]
		if !c.exact {
			s.forbid(c.at)
			s.search(c.at)
			continue
		}
		s.write(c)
		s.deviate(c.at)
		return Path{Links: s.links, Cost: int64(top.Key >> 16)}, true
	}
	return Path{}, false
}

// write puts down the links of a candidate, and adds them to the vertices.
func (s *Search) write(c candidate) {
	s.links = s.links[:0]
	for v := c.at; s.vertices[v].parent >= 0; v = s.vertices[v].parent {
		s.links = append(s.links, s.vertices[v].link)
	}
	slices.Reverse(s.links)
	known := len(s.links)
	s.links = append(s.links, s.explicit[c.first:c.last]...)
	at := s.vertices[c.at].node
	if len(s.links) > known {
		at = s.raw.To[s.links[len(s.links)-1]]
	}
	for at != s.to {
		s.links = append(s.links, s.next[at])
		at = s.raw.To[s.next[at]]
	}
	parent := c.at
	for _, l := range s.links[known:] {
		id := int32(len(s.vertices))
		up := &s.vertices[parent]
		s.vertices = append(s.vertices, vertex{
			key: up.key + spf.Key(s.weights[l]), node: s.raw.To[l], link: l, parent: parent, child: -1, beside: up.child,
		})
		s.vertices[parent].child = id
		parent = id
	}
}

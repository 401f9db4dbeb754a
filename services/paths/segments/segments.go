// Package segments writes a path as the shortest list of segments that pins it: node SIDs where forwarding by shortest
// path follows it and nothing else, adjacency SIDs for the links where it does not (RFC 8402 sections 3.1 and 3.4).
//
// In: a graph.Graph and the links of a path. Out: segments, or how many it takes. Next: services/paths/cspf, which
// keeps to a router's maximum SID depth.
//
// Nothing here has a clock, a network or a goroutine.
//
// Mutation testing: 67 of 67 killed (docs/reference/mutants.md).
package segments

import (
	"math"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/spf"
)

// Segment is one entry of a list.
type Segment struct {
	// Node to go to by shortest path; -1 for an adjacency.
	Node int32
	// Link to go over, for an adjacency; -1 for a node.
	Link int32
}

// SIDs are what routers offer. A nil slice says that all do.
type SIDs struct {
	// Node reports, by node, whether it has a node SID; Adjacency, by link, whether it has an adjacency SID.
	Node, Adjacency []bool
	// Absent reports, by link, whether no router forwards over it: it is in the graph for the sake of what is booked.
	Absent []bool
}

func (s *SIDs) node(n int32) bool { return s.Node == nil || s.Node[n] }
func (s *SIDs) link(l int32) bool { return (s.Adjacency == nil || s.Adjacency[l]) && !s.absent(l) }

func (s *SIDs) absent(l int32) bool { return s.Absent != nil && s.Absent[l] }

// Finder is the memory of searches, kept from one to the next. Its zero value is ready.
type Finder struct {
	cost  []uint64
	many  []bool // several shortest paths
	queue spf.Queue
	// need, from a place on the path, is the fewest segments to the end, and jump is where the first of them ends; 0 if
	// that is an adjacency.
	need []int
	jump []int
	list []Segment
}

// none is the number of segments of a place from which no list leads to the end.
const none = math.MaxInt / 2

// List returns a shortest list of segments that pins a path; false if there is none. Between two of equal length, node
// SIDs and longer ways come first. The list belongs to the Finder until its next use.
func (f *Finder) List(g *graph.Graph, links []int32, sids *SIDs) ([]Segment, bool) {
	f.list = f.list[:0]
	if f.Count(g, links, sids) < 0 {
		return nil, false
	}
	for at := 0; at < len(links); {
		if end := f.jump[at]; end > 0 {
			f.list = append(f.list, Segment{Node: g.To(links[end-1]), Link: -1})
			at = end
		} else {
			f.list = append(f.list, Segment{Node: -1, Link: links[at]})
			at++
		}
	}
	return f.list, true
}

// Count is the length of the shortest list; -1 if there is none.
func (f *Finder) Count(g *graph.Graph, links []int32, sids *SIDs) int {
	end := len(links)
	f.need, f.jump = resized(f.need, end+1), resized(f.jump, end+1)
	f.need[end] = 0
	for at := end - 1; at >= 0; at-- {
		f.place(g, links, sids, at)
	}
	if f.need[0] >= none {
		return -1
	}
	return f.need[0]
}

// place finds the best segment to begin with at one place of the path, whose places behind it are done.
func (f *Finder) place(g *graph.Graph, links []int32, sids *SIDs, at int) {
	f.need[at], f.jump[at] = none, 0
	if sids.link(links[at]) {
		f.need[at] = 1 + f.need[at+1]
	}
	var length uint64
	for _, l := range links[at:] {
		length += uint64(g.Weights(graph.IGP)[l])
	}
	f.from(g, g.From(links[at]), length, sids)
	length = 0
	for i, l := range links[at:] {
		to := g.To(l)
		length += uint64(g.Weights(graph.IGP)[l])
		if f.cost[to] != length || f.many[to] {
			return // and what leads through here is no only shortest path either
		}
		if need := 1 + f.need[at+i+1]; sids.node(to) && need <= f.need[at] {
			f.need[at], f.jump[at] = need, at+i+1
		}
	}
}

// from finds the least costs from a node over links that are there, up to a limit, and where several paths have them.
// Metrics are at least 1, so that all that leads to a node on shortest paths leaves the queue before it.
func (f *Finder) from(g *graph.Graph, node int32, limit uint64, sids *SIDs) {
	n := g.Nodes()
	f.cost, f.many = resized(f.cost, n), resized(f.many, n)
	for i := range f.cost {
		f.cost[i], f.many[i] = spf.Unreached, false
	}
	weights := g.Weights(graph.IGP)
	f.cost[node] = 0
	f.queue = f.queue[:0]
	f.queue.Push(spf.Entry{ID: node})
	for len(f.queue) > 0 {
		at := f.queue.Pop()
		if at.Key > f.cost[at.ID] {
			continue
		}
		for l, end := g.Out(at.ID); l < end; l++ {
			to, next := g.To(l), at.Key+uint64(weights[l])
			switch {
			case next > limit || next > f.cost[to] || sids.absent(l):
			case next == f.cost[to]:
				f.many[to] = true
			default:
				f.cost[to], f.many[to] = next, f.many[at.ID]
				f.queue.Push(spf.Entry{Key: next, ID: to})
			}
		}
	}
}

// Pinned reports, by link, whether a node SID pins it: whether the link is the only shortest path to its far end.
func (f *Finder) Pinned(g *graph.Graph) []bool {
	out := make([]bool, g.Links())
	weights := g.Weights(graph.IGP)
	for n := range int32(g.Nodes()) {
		first, end := g.Out(n)
		furthest := uint32(0)
		for l := first; l < end; l++ {
			furthest = max(furthest, weights[l])
		}
		f.from(g, n, uint64(furthest), &SIDs{})
		for l := first; l < end; l++ {
			out[l] = f.cost[g.To(l)] == uint64(weights[l]) && !f.many[g.To(l)]
		}
	}
	return out
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

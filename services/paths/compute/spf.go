// Package compute finds paths: the ones the IGP uses (SPF, ECMP), the ones
// constraints allow (CSPF), and the segment lists that pin them.
//
// In: a topo.Graph and a Request. Out: a Path with its segment list and the
// reason why it is this one, or an error that says which link is in the way and
// by how much. Next: services/paths, which serves it.
//
// Segments are loopbacks here; the first router turns them into labels
// (services/routeragent/frr, resolve.go).
//
// Index answers in production, by services/paths/spf, cspf and segments on dense
// arrays. The searches of this package are what it falls back to where there is
// no path, or none that node SIDs pin, because they say why.
//
// Nothing here has a clock, a network or a goroutine, and equal input gives
// equal output.
//
// Mutation testing: 229 of 231 killed (docs/reference/mutants.md).
package compute

import (
	"container/heap"
	"math"
	"net/netip"

	"github.com/millrace/millrace/internal/topo"
)

// Tree is what shortest-path-first from one router yields.
type Tree struct {
	Root netip.Addr
	// Cost is the least IGP cost per router; routers out of reach are absent.
	Cost map[netip.Addr]uint64
	// Via lists the last links of all shortest paths to a router.
	Via map[netip.Addr][]*topo.Link
}

// SPF is Dijkstra's algorithm over the IGP metric, keeping every equal-cost
// predecessor (RFC 2328 section 16.1).
func SPF(g *topo.Graph, root netip.Addr) *Tree { return spf(g, root, math.MaxUint64) }

// spf stops at routers further away than limit.
func spf(g *topo.Graph, root netip.Addr, limit uint64) *Tree {
	t := &Tree{Root: root, Cost: map[netip.Addr]uint64{root: 0}, Via: map[netip.Addr][]*topo.Link{}}
	done := map[netip.Addr]bool{}
	q := &queue[uint64]{less: func(a, b uint64) bool { return a < b }}
	heap.Push(q, entry[uint64]{node: root})
	for q.Len() > 0 {
		at := heap.Pop(q).(entry[uint64])
		if done[at.node] || at.cost > limit {
			continue
		}
		done[at.node] = true
		for _, l := range g.Out(at.node) {
			t.relax(q, l, at.cost+uint64(l.Metric))
		}
	}
	return t
}

func (t *Tree) relax(q *queue[uint64], l *topo.Link, cost uint64) {
	old, known := t.Cost[l.To]
	switch {
	case !known || cost < old:
		t.Cost[l.To], t.Via[l.To] = cost, []*topo.Link{l}
		heap.Push(q, entry[uint64]{node: l.To, cost: cost})
	case cost == old:
		t.Via[l.To] = append(t.Via[l.To], l)
	}
}

// Unique returns the links of the shortest path to a router if there is exactly
// one; parallel links of equal cost are two paths.
func (t *Tree) Unique(to netip.Addr) ([]*topo.Link, bool) {
	var rev []*topo.Link
	for at := to; at != t.Root; {
		via := t.Via[at]
		if len(via) != 1 {
			return nil, false
		}
		rev = append(rev, via[0])
		at = via[0].From
	}
	return reversed(rev), true
}

// Used is the set of links on any shortest path to a router.
func (t *Tree) Used(to netip.Addr) map[string]bool {
	used := map[string]bool{}
	seen := map[netip.Addr]bool{}
	for todo := []netip.Addr{to}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, l := range t.Via[at] {
			used[l.ID] = true
			todo = append(todo, l.From)
		}
	}
	return used
}

// Paths lists the shortest paths to a router, at most so many, and tells
// whether these are all. Their number can grow exponentially with the network.
func (t *Tree) Paths(to netip.Addr, most int) (paths [][]*topo.Link, all bool) {
	if _, ok := t.Cost[to]; !ok {
		return nil, true
	}
	var walk func(at netip.Addr, rev []*topo.Link) bool
	walk = func(at netip.Addr, rev []*topo.Link) bool {
		if at == t.Root {
			if len(paths) == most {
				return false
			}
			paths = append(paths, reversed(rev))
			return true
		}
		for _, l := range t.Via[at] {
			if !walk(l.From, append(rev, l)) {
				return false
			}
		}
		return true
	}
	all = walk(to, nil)
	return paths, all
}

func reversed(links []*topo.Link) []*topo.Link {
	out := make([]*topo.Link, 0, len(links))
	for i := len(links) - 1; i >= 0; i-- {
		out = append(out, links[i])
	}
	return out
}

// entry is a router waiting in the queue at some cost.
type entry[C any] struct {
	node netip.Addr
	cost C
}

// queue is a priority queue; equal costs leave in router id order, so that runs repeat.
type queue[C any] struct {
	entries []entry[C]
	less    func(a, b C) bool
}

func (q *queue[C]) Len() int      { return len(q.entries) }
func (q *queue[C]) Swap(i, j int) { q.entries[i], q.entries[j] = q.entries[j], q.entries[i] }
func (q *queue[C]) Push(x any)    { q.entries = append(q.entries, x.(entry[C])) }
func (q *queue[C]) Less(i, j int) bool {
	a, b := q.entries[i], q.entries[j]
	if q.less(a.cost, b.cost) {
		return true
	}
	return !q.less(b.cost, a.cost) && a.node.Less(b.node)
}
func (q *queue[C]) Pop() any {
	last := q.entries[len(q.entries)-1]
	q.entries = q.entries[:len(q.entries)-1]
	return last
}

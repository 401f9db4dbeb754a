// Package spf is shortest path first on a graph.Graph: what all searches of the path engine have in common, and the
// least cost from one router to all.
//
// In: a graph.Graph and a metric. Out: costs by node, keys and a queue. Next: services/paths/cspf,
// services/paths/kshortest, services/paths/disjoint.
//
// Nothing here has a clock, a network or a goroutine.
//
// Mutation testing: 70 of 70 killed (docs/reference/mutants.md).
package spf

import (
	"math"

	"github.com/millrace/millrace/services/paths/graph"
)

// Unreached is the key, and the cost, of a node that no path leads to.
const Unreached = math.MaxUint64

// Key makes the key of one link: its weight above a count of links, so that one comparison orders paths by cost and
// then by hops. Neither overflows on a path without a loop (graph.MaxNodes).
func Key(weight uint32) uint64 { return uint64(weight)<<16 | 1 }

// Cost is the sum of weights in a key.
func Cost(key uint64) int64 { return int64(key >> 16) }

// Search is the memory of Costs, kept from one search to the next.
type Search struct {
	queue []uint64
}

// Costs fills in, by node, the least sum of a metric from a router, or Unreached. costs has an entry per node.
//
// Costs alone have no count of links, so that a cost and a node fit into one word, and the queue compares words.
func (s *Search) Costs(g *graph.Graph, m graph.Metric, from int32, costs []uint64) {
	for i := range costs {
		costs[i] = Unreached
	}
	raw, weights := g.Raw(), g.Weights(m)
	first, to := raw.First, raw.To
	costs[from] = 0
	q := append(s.queue[:0], uint64(from))
	for len(q) > 0 {
		var top uint64
		top, q = pop(q)
		at, cost := top&0xffff, top>>16
		if cost > costs[at] {
			continue
		}
		for l := first[at]; l < first[at+1]; l++ {
			if next := cost + uint64(weights[l]); next < costs[to[l]] {
				costs[to[l]] = next
				q = push(q, next<<16|uint64(to[l]))
			}
		}
	}
	s.queue = q
}

func push(h []uint64, e uint64) []uint64 {
	h = append(h, e)
	at := len(h) - 1
	for at > 0 {
		parent := (at - 1) / 4
		if h[parent] <= e {
			break
		}
		h[at] = h[parent]
		at = parent
	}
	h[at] = e
	return h
}

func pop(h []uint64) (uint64, []uint64) {
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	at, n := 0, len(h)
	for {
		child := 4*at + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, n); c++ {
			if h[c] < h[least] {
				least = c
			}
		}
		if h[least] >= last {
			break
		}
		h[at] = h[least]
		at = least
	}
	if n > 0 {
		h[at] = last
	}
	return first, h
}

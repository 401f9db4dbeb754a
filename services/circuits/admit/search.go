package admit

import (
	"slices"

	"github.com/millrace/millrace/services/paths/cspf"
	"github.com/millrace/millrace/services/paths/spf"
)

const (
	// maxLabels is how many partial paths one search makes before it is given up: some 15 MB.
	// Those of a volume take a second or more on a large network (BenchmarkSpreadRefused).
	maxLabels = 200_000
	// maxPieces is how many pieces their profiles and those of links have together: 128 MB.
	maxPieces = 8 << 20
	// maxUnpinned is how many paths that need too many segments one search passes over: as in services/paths/cspf.
	maxUnpinned = cspf.DefaultLists
)

// label is a partial path from the request's start. It is the label of its last node.
type label struct {
	node, link, parent int32
	// stage is how many loose hops are behind, hops how many links.
	stage, hops int32
	// cost is of the path and the least that is left from its last node on, so that those that lead to the end come
	// first.
	cost, delay int64
	// free is what is free on it over time; of a volume only.
	free []piece
}

// search looks for paths in the order of their cost. It goes on from a partial path only if no other one to the same
// router, that costs no more, is at least as good in all else: a path of the rest of the one and the start of the other
// would be as good.
type search struct {
	*ask
	// every path is of interest, and none is passed over because another one is as good.
	every bool
	// cost of a link.
	cost []uint32
	// left is the least cost from a node to the end, by stage and node, by the links that are not barred; -1 where
	// there is no path.
	left [][]int64
	// extend is what a partial path has free with one more link, and whether that is enough.
	extend func(free []piece, link int32) ([]piece, bool)

	labels  []label
	heap    []int32
	settled [][]int32 // labels, by stage and node
	// unpinned are the paths that were found and need too many segments; there may be maxUnpinned.
	unpinned int
	// pieces that were made, and the most that there may be of them and of labels.
	pieces, mostPieces, mostLabels int
	// givenUp: there were more.
	givenUp bool
}

func (a *ask) search(cost []uint32) search {
	most := ofOne
	if a.effort != nil {
		most = *a.effort
	}
	return search{ask: a, cost: cost, mostPieces: most.pieces, mostLabels: most.labels}
}

// effort is what several searches may make of labels and of pieces together.
type effort struct{ labels, pieces int }

// ofOne is what a search may make that has nothing in common with others.
var ofOne = effort{labels: maxLabels, pieces: maxPieces}

// spend takes what a search has made.
func (e *effort) spend(s *search) {
	if e != nil {
		e.labels, e.pieces = max(e.labels-len(s.labels), 0), max(e.pieces-s.pieces, 0)
	}
}

// run calls accept with the label of each path that is found, until it is content; the path is nil if it never is.
func (s *search) run(first []piece, accept func(last int32) bool) []int32 {
	defer func() { s.effort.spend(s) }()
	s.settled = make([][]int32, s.graph.Nodes()*(len(s.via)+1))
	s.left = s.toEnd(s.cost)
	s.push(label{node: s.from, link: -1, parent: -1, free: first})
	for len(s.heap) > 0 {
		at := s.pop()
		l := s.labels[at]
		if s.passed(l) {
			continue
		}
		s.settled[s.place(l)] = append(s.settled[s.place(l)], at)
		if l.node != s.to {
			s.goOn(at)
		} else if accept(at) {
			return s.path(at)
		}
		if len(s.labels) > s.mostLabels || s.pieces > s.mostPieces || s.unpinned == maxUnpinned {
			s.givenUp = true
			return nil
		}
	}
	return nil
}

// pins reports whether the path of a label is pinned by few enough segments, and counts those that are not: no rule
// says of a part of a path whether the whole will do.
func (s *search) pins(last int32) bool {
	if s.pinned(s.path(last)) {
		return true
	}
	s.unpinned++
	return false
}

// passed: a partial path that was looked at before is as good as this one.
func (s *search) passed(l label) bool {
	return !s.every && slices.ContainsFunc(s.settled[s.place(l)], func(i int32) bool {
		other := s.labels[i]
		return other.delay <= l.delay && (s.maxHops == noHops || other.hops <= l.hops) && covers(other.free, l.free)
	})
}

// place of a label in a table by stage and node.
func (s *search) place(l label) int { return int(l.stage)*s.graph.Nodes() + int(l.node) }

// step is the stage behind a router; loose hops are passed in their order, and the end is behind all of them.
func (s *search) step(stage, to int32) (next int32, ok bool) {
	switch i := slices.Index(s.via, to); {
	case i == int(stage):
		return stage + 1, true
	case i >= 0, to == s.to && int(stage) < len(s.via):
		return stage, false
	}
	return stage, true
}

func (s *search) goOn(at int32) {
	from := s.labels[at]
	first, end := s.graph.Out(from.node)
	for link := first; link < end; link++ {
		delay, ok := s.delay(link)
		to := s.graph.To(link)
		stage, inOrder := s.step(from.stage, to)
		if s.barred[link] || !ok || !inOrder || s.left[stage][to] < 0 || from.delay+delay > s.maxDelay || from.hops == s.maxHops || s.every && s.visits(at, to) {
			continue
		}
		if free, ok := s.extend(from.free, link); ok {
			s.push(label{
				node: to, link: link, parent: at, stage: stage, hops: from.hops + 1, free: free,
				cost: from.cost - s.left[from.stage][from.node] + int64(s.cost[link]) + s.left[stage][to], delay: from.delay + delay,
			})
		}
	}
}

func (s *search) visits(at, node int32) bool {
	for at >= 0 && s.labels[at].node != node {
		at = s.labels[at].parent
	}
	return at >= 0
}

// path is the links of a label.
func (s *search) path(at int32) []int32 {
	var out []int32
	for ; s.labels[at].link >= 0; at = s.labels[at].parent {
		out = append(out, s.labels[at].link)
	}
	slices.Reverse(out)
	return out
}

// before orders labels by cost; of two that cost the same, the one that was found first.
func (s *search) before(a, b int32) bool {
	x, y := s.labels[a].cost, s.labels[b].cost
	return x < y || x == y && a < b
}

func (s *search) push(l label) {
	s.labels = append(s.labels, l)
	i := len(s.heap)
	s.heap = append(s.heap, int32(len(s.labels)-1))
	for up := (i - 1) / 2; i > 0 && s.before(s.heap[i], s.heap[up]); up = (i - 1) / 2 {
		s.heap[i], s.heap[up] = s.heap[up], s.heap[i]
		i = up
	}
}

func (s *search) pop() int32 {
	top, last := s.heap[0], len(s.heap)-1
	s.heap[0] = s.heap[last]
	s.heap = s.heap[:last]
	for i := 0; ; {
		least := i
		for down := 2*i + 1; down <= 2*i+2 && down < last; down++ {
			if s.before(s.heap[down], s.heap[least]) {
				least = down
			}
		}
		if least == i {
			return top
		}
		s.heap[i], s.heap[least] = s.heap[least], s.heap[i]
		i = least
	}
}

// toEnd is the least sum of weights from each node to the end, by the loose hops behind a stage, over links that are
// not barred, or -1.
func (a *ask) toEnd(weights []uint32) [][]int64 {
	out := make([][]int64, len(a.via)+1)
	target, base := a.to, int64(0)
	for stage := len(a.via); stage >= 0; stage-- {
		out[stage] = a.toward(target, base, weights)
		if stage > 0 {
			target = a.via[stage-1]
			base = out[stage][target]
		}
	}
	return out
}

// toward is the least sum from each node to a target, plus what is left from there on; a base of -1 is no path at all.
func (a *ask) toward(target int32, base int64, weights []uint32) []int64 {
	out := slices.Repeat([]int64{-1}, a.graph.Nodes())
	if base < 0 {
		return out
	}
	var queue spf.Queue
	queue.Push(spf.Entry{Key: uint64(base), ID: target})
	for len(queue) > 0 {
		at := queue.Pop()
		if out[at.ID] >= 0 {
			continue
		}
		out[at.ID] = int64(at.Key)
		for _, l := range a.graph.In(at.ID) {
			if !a.barred[l] {
				queue.Push(spf.Entry{Key: at.Key + uint64(weights[l]), ID: a.graph.From(l)})
			}
		}
	}
	return out
}

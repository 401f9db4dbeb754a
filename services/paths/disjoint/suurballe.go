package disjoint

import (
	"math"
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/kshortest"
	"github.com/millrace/millrace/services/paths/spf"
)

// Search is the memory of searches, kept from one to the next. Its zero value is ready.
type Search struct {
	g       *graph.Graph
	raw     graph.Raw
	weights []uint32
	r       Request

	queue spf.Queue
	// key and via are those of Dijkstra's algorithm from the start.
	key []uint64
	via []int32
	// path is the shortest; enter[n] and leave[n] are its links into and out of a node, or -1.
	path         []int32
	enter, leave []int32
	// The second search is over states: 2n is node n, or its entry; 2n+1 is its exit, for nodes of the path.
	reach []uint64
	step  []int32 // how a state was entered: over a link, back over a link (its complement), or stay
	prior []int32 // from which state

	pick          []bool // links of both paths
	first, second []int32
	paths         listing
}

// stay enters a node's entry from its exit.
const stay = math.MinInt32

// Find returns the best pair. Where there is none the error is an *Explanation.
func (s *Search) Find(g *graph.Graph, r *Request) (Pair, error) {
	if err := r.check(g); err != nil {
		return Pair{}, err
	}
	s.g, s.raw, s.weights, s.r = g, g.Raw(), g.Weights(r.Metric), *r
	if !s.shortest(r.From, r.To) {
		return Pair{}, &Explanation{From: r.From, To: r.To, Disconnected: true, graph: g}
	}
	s.mark()
	if !s.again() {
		return Pair{}, s.common()
	}
	s.split()
	if r.Kind.groups() && s.shareGroup(s.first, s.second) {
		return s.apart()
	}
	return s.pair(true), nil
}

func (s *Search) pair(proven bool) Pair {
	p := Pair{First: s.first, Second: s.second, Proven: proven}
	p.Cost = spf.Cost(s.sum(s.first)) + spf.Cost(s.sum(s.second))
	return p
}

// sum is the key of a path.
func (s *Search) sum(links []int32) (key uint64) {
	for _, l := range links {
		key += spf.Key(s.weights[l])
	}
	return key
}

func (s *Search) may(l int32) bool { return s.r.Usable == nil || s.r.Usable[l] }

// shortest is Dijkstra's algorithm up to the end.
func (s *Search) shortest(from, to int32) bool {
	n := s.g.Nodes()
	s.key, s.via = filled(s.key, n, spf.Unreached), filled(s.via, n, 0)
	q := s.queue[:0]
	s.key[from] = 0
	q.Push(spf.Entry{ID: from})
	for len(q) > 0 {
		at := q.Pop()
		if at.ID == to {
			break
		}
		if at.Key > s.key[at.ID] {
			continue
		}
		for l := s.raw.First[at.ID]; l < s.raw.First[at.ID+1]; l++ {
			next, end := at.Key+spf.Key(s.weights[l]), s.raw.To[l]
			if next < s.key[end] && s.may(l) {
				s.key[end], s.via[end] = next, l
				q.Push(spf.Entry{Key: next, ID: end})
			}
		}
	}
	s.queue = q
	return s.key[to] != spf.Unreached
}

// mark writes the shortest path down.
func (s *Search) mark() {
	n := s.g.Nodes()
	s.enter, s.leave = filled(s.enter, n, -1), filled(s.leave, n, -1)
	s.path = s.path[:0]
	for at := s.r.To; at != s.r.From; at = s.raw.From[s.via[at]] {
		l := s.via[at]
		s.path = append(s.path, l)
		s.enter[at], s.leave[s.raw.From[l]] = l, l
	}
	slices.Reverse(s.path)
}

// reduced is what a link costs beyond the shortest path to its far end, which is never negative. Nodes beyond the end,
// where the first search stopped, count as far as the end.
func (s *Search) reduced(l int32) uint64 {
	end := s.key[s.r.To]
	return spf.Key(s.weights[l]) + min(s.key[s.raw.From[l]], end) - min(s.key[s.raw.To[l]], end)
}

// inner reports whether a node has an entry and an exit of its own: on the path, where nodes may not be shared.
func (s *Search) inner(n int32) bool {
	return s.r.Kind.nodes() && s.enter[n] >= 0 && s.leave[n] >= 0
}

// again finds the shortest path in what the first path leaves: forward over other links at their reduced costs, back
// over its own for nothing. Who enters a node of the path that may not be shared can only go back from there.
func (s *Search) again() bool {
	n := 2 * s.g.Nodes()
	s.reach, s.step, s.prior = filled(s.reach, n, spf.Unreached), filled(s.step, n, stay), filled(s.prior, n, 0)
	s.queue = s.queue[:0]
	s.enterState(2*s.r.From, 0, stay, 0)
	for len(s.queue) > 0 {
		at := s.queue.Pop()
		if at.Key > s.reach[at.ID] {
			continue
		}
		if at.ID == 2*s.r.To {
			return true
		}
		s.leaveState(at.ID, at.Key)
	}
	return false
}

func (s *Search) enterState(state int32, key uint64, step, prior int32) {
	if key < s.reach[state] {
		s.reach[state], s.step[state], s.prior[state] = key, step, prior
		s.queue.Push(spf.Entry{Key: key, ID: state})
	}
}

// leaveState goes on from a state.
func (s *Search) leaveState(state int32, key uint64) {
	node, exit := state/2, state%2 == 1
	if exit {
		s.enterState(2*node, key, stay, state)
	} else if back := s.enter[node]; back >= 0 {
		before := s.raw.From[back]
		to := 2 * before
		if s.inner(before) {
			to++
		}
		s.enterState(to, key, ^back, state)
	}
	if s.inner(node) && !exit {
		return
	}
	for l := s.raw.First[node]; l < s.raw.First[node+1]; l++ {
		if l != s.leave[node] && s.may(l) {
			s.enterState(2*s.raw.To[l], key+s.reduced(l), l, state)
		}
	}
}

// split makes two paths of the links of both searches, without those that the second one ran
// back over.
func (s *Search) split() {
	s.pick = filled(s.pick, s.g.Links(), false)
	for _, l := range s.path {
		s.pick[l] = true
	}
	for state := 2 * s.r.To; state != 2*s.r.From; state = s.prior[state] {
		switch step := s.step[state]; {
		case step == stay:
		case step < 0:
			s.pick[^step] = false
		default:
			s.pick[step] = true
		}
	}
	s.first, s.second = s.walk(s.first[:0]), s.walk(s.second[:0])
	if s.sum(s.second) < s.sum(s.first) {
		s.first, s.second = s.second, s.first
	}
}

// walk takes one path out of the picked links. They have no circle, for the least cost has none; and whichever router
// it comes to, a picked link leaves it.
func (s *Search) walk(links []int32) []int32 {
	for at := s.r.From; at != s.r.To; {
		l := s.raw.First[at]
		for !s.pick[l] {
			l++
		}
		s.pick[l] = false
		links = append(links, l)
		at = s.raw.To[l]
	}
	return links
}

// common is what all paths pass: the second search came along the first path as far as the states that it reached.
func (s *Search) common() *Explanation {
	e := &Explanation{From: s.r.From, To: s.r.To, graph: s.g}
	for _, l := range slices.Backward(s.path) {
		from := s.raw.From[l]
		entry, exit := s.reach[2*from] != spf.Unreached, s.reach[2*from+1] != spf.Unreached
		switch {
		case s.inner(from) && entry && !exit:
			e.Nodes = []int32{from}
			return e
		case entry || exit:
			e.Links = []int32{l}
			return e
		}
	}
	return e
}

// filled returns s with n entries, each set to v.
func filled[T any](s []T, n int, v T) []T {
	if cap(s) < n {
		s = make([]T, n)
	}
	s = s[:n]
	for i := range s {
		s[i] = v
	}
	return s
}

// listing is what the search for risk groups keeps.
type listing struct {
	paths    kshortest.Search
	free     []bool     // links that a path beside another may use
	hopeless [][]uint32 // sets of groups that no path avoids
	groups   []uint32   // of the path at hand
	a, b     []int32    // the best pair so far
}

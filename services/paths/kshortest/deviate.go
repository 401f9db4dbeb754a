package kshortest

import (
	"math"
	"slices"

	"github.com/millrace/millrace/services/paths/spf"
)

// deviate offers, for the vertex where the path just written left its parent and for each behind it, the best path that
// begins so and goes on over no link that a known one takes there.
func (s *Search) deviate(at int32) {
	s.forbid(at)
	for {
		s.bound(at)
		// The path just written is the latest child.
		if at = s.vertices[at].child; s.vertices[at].node == s.to {
			return
		}
		s.blocked[s.vertices[at].node] = s.block
	}
}

// forbid blocks the nodes up to a vertex, itself too.
func (s *Search) forbid(at int32) {
	s.fresh()
	for ; at >= 0; at = s.vertices[at].parent {
		s.blocked[s.vertices[at].node] = s.block
	}
}

// fresh takes a mark that nothing bears.
func (s *Search) fresh() {
	if s.block == math.MaxUint32 {
		clear(s.blocked)
		clear(s.taken)
		clear(s.seen)
		s.block = 0
	}
	s.block++
}

// take marks the links over which known paths go on from a vertex.
func (s *Search) take(at int32) {
	for c := s.vertices[at].child; c >= 0; c = s.vertices[c].beside {
		s.taken[s.vertices[c].link] = s.block
	}
}

// bound offers the least that a deviation at a vertex can cost: over one link, then by the tree. If the tree does not
// lead back into what is blocked, that is the deviation.
func (s *Search) bound(at int32) {
	s.take(at)
	v := &s.vertices[at]
	best, least := int32(-1), uint64(spf.Unreached)
	for l := s.raw.First[v.node]; l < s.raw.First[v.node+1]; l++ {
		to := s.raw.To[l]
		if s.blocked[to] == s.block || s.least[to] == spf.Unreached {
			continue
		}
		if key := spf.Key(s.weights[l]) + s.least[to]; key < least && s.may(l) && s.taken[l] != s.block {
			best, least = l, key
		}
	}
	if best < 0 {
		return
	}
	c := candidate{at: at}
	if s.clean(s.raw.To[best]) {
		c.first, c.exact = int32(len(s.explicit)), true
		s.explicit = append(s.explicit, best)
		c.last = int32(len(s.explicit))
	}
	s.offer(c, v.key+least)
}

// clean reports whether the tree leads from a node to the end past all that is blocked.
func (s *Search) clean(at int32) bool {
	for at != s.to {
		if s.blocked[at] == s.block {
			return false
		}
		at = s.raw.To[s.next[at]]
	}
	return true
}

// search finds the best deviation at a vertex whose beginning is blocked. It ends at the first node, in the order of
// what a path over it costs at least, from which the tree is clean: nothing is better, and a path that came back to
// itself would not be the best.
func (s *Search) search(at int32) {
	s.take(at)
	v := s.vertices[at]
	s.open = s.open[:0]
	s.relax(v.node, 0)
	for len(s.open) > 0 {
		e := s.open.Pop()
		if e.Key > s.key[e.ID]+s.least[e.ID] {
			continue
		}
		if s.clean(e.ID) {
			s.offer(s.trace(at, e.ID), v.key+e.Key)
			return
		}
		s.relax(e.ID, s.key[e.ID])
	}
}

// relax goes on from a node.
func (s *Search) relax(node int32, sofar uint64) {
	for l := s.raw.First[node]; l < s.raw.First[node+1]; l++ {
		to := s.raw.To[l]
		if s.blocked[to] == s.block || s.least[to] == spf.Unreached || !s.may(l) || s.taken[l] == s.block {
			continue
		}
		if key := sofar + spf.Key(s.weights[l]); s.seen[to] != s.block || key < s.key[to] {
			s.seen[to], s.key[to], s.via[to] = s.block, key, l
			s.open.Push(spf.Entry{Key: key + s.least[to], ID: to})
		}
	}
}

// trace writes down how the search came from a vertex to a node.
func (s *Search) trace(at, node int32) candidate {
	c := candidate{at: at, first: int32(len(s.explicit)), exact: true}
	for start := s.vertices[at].node; node != start; node = s.raw.From[s.via[node]] {
		s.explicit = append(s.explicit, s.via[node])
	}
	c.last = int32(len(s.explicit))
	slices.Reverse(s.explicit[c.first:c.last])
	return c
}

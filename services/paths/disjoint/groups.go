package disjoint

import (
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/spf"
)

// groupsOf adds up the risk groups of a path, in rising order, each once.
func groupsOf(g *graph.Graph, into []uint32, links []int32) []uint32 {
	for _, l := range links {
		into = append(into, g.Risks(l)...)
	}
	slices.Sort(into)
	return slices.Compact(into)
}

func (s *Search) shareGroup(a, b []int32) bool {
	s.paths.groups = groupsOf(s.g, s.paths.groups[:0], a)
	for _, l := range b {
		for _, group := range s.g.Risks(l) {
			if _, both := slices.BinarySearch(s.paths.groups, group); both {
				return true
			}
		}
	}
	return false
}

// apart lists paths from the cheapest on, each with the cheapest that has nothing in common with it. Of any pair, the
// cheaper path is listed no later than when paths cost half of the pair. No pair costs less than the one that only
// shares no link, or no router, which s.first and s.second are.
func (s *Search) apart() (Pair, error) {
	least := s.sum(s.first) + s.sum(s.second)
	w := &s.paths
	w.hopeless, w.a, w.b = w.hopeless[:0], w.a[:0], w.b[:0]
	most := s.r.MaxPaths
	if most == 0 {
		most = DefaultPaths
	}
	w.paths.Towards(s.g, s.r.Metric, s.r.Usable, s.r.To)
	w.paths.From(s.r.From)
	best, proven := uint64(spf.Unreached), false
	for range most {
		p, ok := w.paths.Next()
		own := s.sum(p.Links)
		// Both paths of a pair that is still to come cost this much at least.
		if proven = !ok || best != spf.Unreached && (own >= best-own || best == least); proven {
			break
		}
		if other, ok := s.beside(p.Links); ok && (best == spf.Unreached || own+other < best) {
			best = own + other
			w.a = append(w.a[:0], p.Links...)
			w.b = s.back(w.b[:0])
		}
	}
	switch {
	case best == spf.Unreached && proven:
		return Pair{}, s.blame()
	case best == spf.Unreached:
		return Pair{}, ErrUndecided
	}
	s.first, s.second = append(s.first[:0], w.a...), append(s.second[:0], w.b...)
	if s.sum(s.second) < s.sum(s.first) {
		s.first, s.second = s.second, s.first
	}
	return s.pair(proven), nil
}

// beside is the key of the cheapest path with nothing in common with a given one.
func (s *Search) beside(links []int32) (uint64, bool) {
	w := &s.paths
	w.groups = groupsOf(s.g, w.groups[:0], links)
	for _, set := range w.hopeless {
		if contains(w.groups, set) {
			return 0, false
		}
	}
	usable := s.r.Usable
	defer func() { s.r.Usable = usable }()
	s.without(usable, links, w.groups)
	if s.shortest(s.r.From, s.r.To) {
		return s.key[s.r.To], true
	}
	// If the groups alone leave no path, any other path with these groups can be passed over.
	s.without(usable, nil, w.groups)
	if !s.shortest(s.r.From, s.r.To) {
		w.hopeless = append(w.hopeless, slices.Clone(w.groups))
	}
	return 0, false
}

// without makes a path's links, the routers between its ends and groups unusable.
func (s *Search) without(usable []bool, links []int32, groups []uint32) {
	w := &s.paths
	w.free = filled(w.free, s.g.Links(), true)
	copy(w.free, usable)
	for i, l := range links {
		w.free[l] = false
		if s.r.Kind.nodes() && i > 0 {
			for _, into := range s.g.In(s.raw.From[l]) {
				w.free[into] = false
			}
		}
	}
	for _, group := range groups {
		for _, l := range s.g.Members(group) {
			w.free[l] = false
		}
	}
	s.r.Usable = w.free
}

// contains reports whether all of part are in set; both rise.
func contains(set, part []uint32) bool {
	for _, group := range part {
		if _, ok := slices.BinarySearch(set, group); !ok {
			return false
		}
	}
	return true
}

// back writes down the path that shortest found.
func (s *Search) back(links []int32) []int32 {
	for at := s.r.To; at != s.r.From; at = s.raw.From[s.via[at]] {
		links = append(links, s.via[at])
	}
	slices.Reverse(links)
	return links
}

// blame finds the groups that every path passes: those of the shortest without which there is none.
func (s *Search) blame() *Explanation {
	e := &Explanation{From: s.r.From, To: s.r.To, graph: s.g}
	usable := s.r.Usable
	defer func() { s.r.Usable = usable }()
	for _, group := range groupsOf(s.g, nil, s.path) {
		s.without(usable, nil, []uint32{group})
		if !s.shortest(s.r.From, s.r.To) {
			e.Groups = append(e.Groups, group)
		}
	}
	return e
}

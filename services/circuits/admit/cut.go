package admit

import "slices"

// side is one end of a search from both ends: the routers that links that fit lead to, or from.
type side struct {
	seen  []bool
	queue []int32
	// links of a router, and the router at their far end.
	links func(n int32) []int32
	far   func(l int32) int32
}

func (a *ask) sides() (forth, back *side) {
	forth = &side{seen: make([]bool, a.graph.Nodes()), queue: []int32{a.from}, far: a.graph.To, links: a.out}
	back = &side{seen: make([]bool, a.graph.Nodes()), queue: []int32{a.to}, far: a.graph.From, links: a.graph.In}
	forth.seen[a.from], back.seen[a.to] = true, true
	return forth, back
}

func (a *ask) out(n int32) []int32 {
	first, end := a.graph.Out(n)
	var out []int32
	for l := first; l < end; l++ {
		out = append(out, l)
	}
	return out
}

// step goes on from one router, by the links that fit.
func (s *side) step(fits func(int32) bool) {
	n := s.queue[0]
	s.queue = s.queue[1:]
	for _, l := range s.links(n) {
		if far := s.far(l); !s.seen[far] && fits(l) {
			s.seen[far] = true
			s.queue = append(s.queue, far)
		}
	}
}

// connected reports whether links that fit lead from one end to the other. If not, cut are links that do not fit and of
// which every path that is not barred uses one: those about the smaller side, so that few links are looked at.
func (a *ask) connected(fits func(int32) bool) (cut []int32, ok bool) {
	may := func(l int32) bool { return !a.barred[l] && fits(l) }
	forth, back := a.sides()
	for len(forth.queue) > 0 && len(back.queue) > 0 {
		if back.seen[forth.queue[0]] || forth.seen[back.queue[0]] {
			return nil, true
		}
		forth.step(may)
		back.step(may)
	}
	// A side that is exhausted has not come to the other end, or the two would have met there.
	whole, beyond := a.sides()
	if len(forth.queue) == 0 {
		return a.around(forth, beyond, may), false
	}
	return a.around(back, whole, may), false
}

// around are the links that lead out of a side and do not fit, and from which one comes to the other end.
func (a *ask) around(s, other *side, may func(int32) bool) []int32 {
	for len(other.queue) > 0 {
		other.step(func(l int32) bool { return !a.barred[l] })
	}
	var cut []int32
	for n := range int32(a.graph.Nodes()) {
		if !s.seen[n] {
			continue
		}
		for _, l := range s.links(n) {
			if far := s.far(l); !s.seen[far] && other.seen[far] && !a.barred[l] && !may(l) {
				cut = append(cut, l)
			}
		}
	}
	slices.Sort(cut)
	return cut
}

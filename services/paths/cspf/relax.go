package cspf

import (
	"slices"

	"github.com/millrace/millrace/services/paths/spf"
)

// instead searches another request, and keeps its marks until the next begin.
func (w *Workspace) instead(e *Explanation, r Request) outcome {
	w.begin(w.g, &r)
	return w.try(e, 0, w.metric())
}

// relaxGroups finds the one group that must be allowed again, of several the one with the cheapest path. If one is not
// enough, it starts from the path with the fewest links of excluded groups and leaves out what is not needed: none of
// these can be missed, but another set could be smaller.
func (w *Workspace) relaxGroups(e *Explanation) (Relaxation, bool) {
	asked := w.r
	groups := w.present(asked.WithoutSRLGs)
	best, least := -1, uint64(spf.Unreached)
	for i := range groups {
		if w.allowing(e, asked, groups, groups[i:i+1]) == found && w.last() < least {
			best, least = i, w.last()
		}
	}
	allowed := groups[:0:0]
	if best >= 0 {
		allowed = append(allowed, groups[best])
	} else if allowed = w.fewest(e, asked, groups); allowed == nil {
		w.begin(w.g, &asked)
		return Relaxation{}, false
	}
	got := w.allowing(e, asked, groups, allowed)
	w.begin(w.g, &asked)
	return Relaxation{Groups: allowed}, got == found
}

// allowing searches with some groups no longer excluded.
func (w *Workspace) allowing(e *Explanation, r Request, groups, allowed []uint32) outcome {
	r.WithoutSRLGs = nil
	for _, group := range groups {
		if !slices.Contains(allowed, group) {
			r.WithoutSRLGs = append(r.WithoutSRLGs, group)
		}
	}
	return w.instead(e, r)
}

// present are the groups that the graph has, each once, in rising order.
func (w *Workspace) present(groups []uint32) []uint32 {
	var out []uint32
	for _, group := range groups {
		if len(w.g.Members(group)) > 0 {
			out = append(out, group)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// last is the key of the path just found.
func (w *Workspace) last() uint64 {
	var key uint64
	for _, l := range w.links {
		key += spf.Key(w.weights[l])
	}
	return key
}

// fewest are groups that make a path together, none too many; nil if there is no path with all of them.
func (w *Workspace) fewest(e *Explanation, asked Request, groups []uint32) []uint32 {
	w.begin(w.g, &asked)
	penalty := make([]uint32, w.g.Links())
	for l := range int32(w.g.Links()) {
		for _, group := range w.g.Risks(l) {
			if slices.Contains(groups, group) {
				penalty[l]++
			}
		}
	}
	if w.try(e, SRLGs, penalty) != found {
		return nil
	}
	var used []uint32
	for _, l := range w.links {
		for _, group := range w.g.Risks(l) {
			if slices.Contains(groups, group) && !slices.Contains(used, group) {
				used = append(used, group)
			}
		}
	}
	slices.Sort(used)
	for i := 0; i < len(used); {
		fewer := slices.Delete(slices.Clone(used), i, i+1)
		if w.allowing(e, asked, groups, fewer) == found {
			used = fewer
		} else {
			i++
		}
	}
	return used
}

// relaxStops finds the one loose hop to leave out, of several the one with the cheapest path; or all.
func (w *Workspace) relaxStops(e *Explanation) (Relaxation, bool) {
	asked := w.r
	best, least := -1, uint64(spf.Unreached)
	without := func(i int) outcome {
		r := asked
		r.Via = slices.Delete(slices.Clone(asked.Via), i, i+1)
		return w.instead(e, r)
	}
	for i := range asked.Via {
		if without(i) == found && w.last() < least {
			best, least = i, w.last()
		}
	}
	left, got := asked.Via, none
	if best >= 0 {
		left, got = asked.Via[best:best+1], without(best)
	} else {
		r := asked
		r.Via = nil
		got = w.instead(e, r)
	}
	w.begin(w.g, &asked)
	return Relaxation{Nodes: slices.Clone(left)}, got == found
}

// together takes kinds back into force, one after another, as long as there is a path.
func (w *Workspace) together(e *Explanation, given Constraint) Constraint {
	lifted := given
	for kind := behind >> 1; kind > 0; kind >>= 1 {
		if lifted&kind != 0 && w.try(e, lifted&^kind, w.hopsAlone()) == found {
			lifted &^= kind
		}
	}
	return lifted
}

// Package lspset finds several paths that together have a rate which one may lack, and the weights by which flows are
// shared among them (papers 000 and 003: partial and explicit paths).
//
// In: a graph.Graph, a cspf.Request whose rate is that of all paths together, the most paths. Out: paths with weights,
// or a Refusal that names the links that bind. Next: services/paths, which serves it.
//
// Paths are taken one after another, each the widest in what the ones before leave, until they have the rate. Where
// that is not enough they are taken from a maximum flow instead, which misses no rate that there is. With the fewest
// paths the problem is NP-hard (k-splittable flow), so a set with fewer paths, or of more rate, may exist where the
// number of paths is what ends the search; the Refusal says when that is so.
//
// Nothing here has a clock, a network or a goroutine, and equal input gives equal output.
//
// Mutation testing: 72 of 77 killed (docs/reference/mutants.md).
package lspset

import (
	"errors"

	"github.com/millrace/millrace/services/paths/cspf"
	"github.com/millrace/millrace/services/paths/graph"
)

// MaxWeight is the largest weight of a path.
const MaxWeight = 255

// Member is a path of a set.
type Member struct {
	cspf.Path
	// Rate is what it carries when the set carries all it can, bit/s.
	Rate int64
	// Weight is its share of the flows, relative to the other members', 1 to MaxWeight.
	Weight int
}

// Set is several paths between two routers, widest first.
type Set struct {
	Members []Member
	// Rate is the sum of the members', bit/s.
	Rate int64
}

// Find returns paths that together have the request's rate, at most so many.
func Find(g *graph.Graph, r cspf.Request, most int) (Set, error) {
	free := make([]int64, g.Links())
	for l := range free {
		if free[l] = g.Capacity(int32(l)); r.Free != nil {
			free[l] = r.Free(int32(l))
		}
	}
	w := new(cspf.Workspace)
	set, err := peel(w, g, r, free, most)
	if err != nil || set.Rate >= r.Rate {
		return set.weighted(), err
	}
	limit, flow, cut, err := maximum(w, g, r, free)
	if err != nil {
		return Set{}, err
	}
	if limit > set.Rate {
		other, err := peel(w, g, r, flow, most)
		if err != nil {
			return Set{}, err
		}
		if other.Rate > set.Rate {
			set = other
		}
	}
	if set.Rate >= r.Rate {
		return set.weighted(), nil
	}
	return Set{}, &Refusal{graph: g, request: r, Most: most, Best: set, Limit: limit, Cut: cut}
}

// peel takes the widest path of what is left, again and again. The last one need only have what is still missing, and
// is the best that has. A search that gives up ends it as one does that finds nothing.
func peel(w *cspf.Workspace, g *graph.Graph, r cspf.Request, free []int64, most int) (Set, error) {
	left := append([]int64(nil), free...)
	one := r
	one.Free = func(l int32) int64 { return left[l] }
	var set Set
	for len(set.Members) < most && set.Rate < r.Rate {
		path, rate, err := w.Widest(g, &one)
		if missing := r.Rate - set.Rate; err == nil && rate > missing {
			enough := one
			enough.Rate = missing
			path, err = w.Find(g, &enough)
		}
		var none *cspf.Explanation
		switch {
		case len(set.Members) > 0 && (errors.As(err, &none) || errors.Is(err, cspf.ErrUndecided)):
			return set, nil
		case err != nil:
			return Set{}, err
		}
		m := Member{Path: path.Clone(), Rate: width(path, left)}
		for _, l := range m.Links {
			left[l] -= m.Rate
		}
		set.Members, set.Rate = append(set.Members, m), set.Rate+m.Rate
	}
	return set, nil
}

func width(p cspf.Path, free []int64) int64 {
	least := free[p.Links[0]]
	for _, l := range p.Links {
		least = min(least, free[l])
	}
	return least
}

// weighted gives the members weights in proportion to their rates: exactly where whole numbers up to MaxWeight can,
// else to the nearest.
func (s Set) weighted() Set {
	var divisor, largest int64
	for _, m := range s.Members {
		divisor, largest = gcd(m.Rate, divisor), max(largest, m.Rate)
	}
	for i := range s.Members {
		m := &s.Members[i]
		if m.Weight = int(m.Rate / divisor); largest/divisor > MaxWeight {
			m.Weight = max(int((m.Rate/divisor*2*MaxWeight/(largest/divisor)+1)/2), 1)
		}
	}
	return s
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

package cspf

import (
	"math"
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
)

// Usable reports, by link, whether it meets all that a request says of single links: rate, affinity, exclusions, a
// delay that is known where the request needs it. It is what packages kshortest and disjoint search on; bounds on delay
// and hops, and loose hops, are no part of it. into is used if it is large enough.
func (w *Workspace) Usable(g *graph.Graph, r *Request, into []bool) ([]bool, error) {
	if err := r.check(g); err != nil {
		return nil, err
	}
	w.begin(g, r)
	into = slices.Grow(into[:0], g.Links())
	for l := range int32(g.Links()) {
		into = append(into, w.usable(l))
	}
	return into, nil
}

// Widest returns the path with the greatest rate under all other constraints, of several the best, and that rate. The
// request's own rate is not looked at. Where not even 1 bit/s is free, the error says what is in the way.
func (w *Workspace) Widest(g *graph.Graph, r *Request) (Path, int64, error) {
	least := *r
	least.Rate = 1
	if _, err := w.Find(g, &least); err != nil {
		return Path{}, 0, err
	}
	rate, got := w.greatest(w.amounts(math.MaxInt64))
	if got == undecided {
		return Path{}, 0, ErrUndecided
	}
	return w.path(), rate, nil
}

// amounts are what links have free, below a limit: each once, in rising order; and 1 in front of them.
func (w *Workspace) amounts(limit int64) []int64 {
	out := []int64{1}
	for l := range int32(w.g.Links()) {
		if free := w.freeOn(l); free > 0 && free < limit {
			out = append(out, free)
		}
	}
	slices.Sort(out[1:])
	return slices.Compact(out)
}

// greatest finds the last of rising rates for which there is a path, and leaves that. There is one for the first.
func (w *Workspace) greatest(rates []int64) (int64, outcome) {
	w.lift(0)
	all := found
	low, high := 0, len(rates)
	for low+1 < high {
		middle := (low + high) / 2
		switch w.at(rates[middle]) {
		case found:
			low = middle
		case undecided:
			all = undecided
			fallthrough
		case none:
			high = middle
		}
	}
	w.at(rates[low])
	w.rate = w.r.Rate
	return rates[low], all
}

// at searches with another rate.
func (w *Workspace) at(rate int64) outcome {
	w.rate = rate
	w.lift(0)
	return w.search(w.metric())
}

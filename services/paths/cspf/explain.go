package cspf

import (
	"github.com/millrace/millrace/services/paths/graph"
)

// Constraint is a set of kinds of constraints.
type Constraint uint16

// The kinds, in the order in which relaxations are listed.
const (
	Rate Constraint = 1 << iota
	Delay
	Hops
	SRLGs
	Affinity
	LooseHops
	Links
	Nodes
	Segments
	behind
)

// Explanation says why there is no path. It is an error.
type Explanation struct {
	From, To int32
	// Disconnected: not even without any constraint. Then the rest is empty.
	Disconnected bool
	// Relaxations each make a path with all other constraints kept; Relaxations[0] is the first in the order of kinds.
	Relaxations []Relaxation
	// Together is a set of kinds that make a path if all of them give way and that has none too many. It is looked for
	// only where no single relaxation is enough.
	Together Constraint
	// Undecided: some search reached its bound on labels or lists, so that relaxations may be missing, or be greater
	// than the least.
	Undecided bool

	graph   *graph.Graph
	request Request
}

// Relaxation is the least change of one kind of constraint that makes a path.
type Relaxation struct {
	Kind Constraint
	// By is how much less rate (bit/s), or more delay (µs), hops or segments. For delay it is 0 where the way is barred
	// by Links of unknown delay; for segments, where no list pins a path.
	By int64
	// Short are the links that have less free than was requested.
	Short []Shortfall
	// Nodes, Links and Groups are what must no longer be excluded, or, as loose hops, no longer be passed; with
	// Affinity the links whose bits do not match.
	Nodes, Links []int32
	Groups       []uint32
	// Path is what it makes.
	Path Path
}

// Shortfall is what a link lacks.
type Shortfall struct {
	Link int32
	// Free and Lacks in bit/s.
	Free, Lacks int64
}

// given are the kinds that the request has.
func (w *Workspace) given() Constraint {
	var c Constraint
	for kind, is := range map[Constraint]bool{
		Rate: w.r.Rate > 0, Delay: w.timed(), Hops: w.r.MaxHops > 0, SRLGs: len(w.r.WithoutSRLGs) > 0,
		Affinity: w.r.IncludeAny|w.r.IncludeAll|w.r.Exclude != 0, LooseHops: len(w.r.Via) > 0,
		Links: len(w.r.WithoutLinks) > 0, Nodes: len(w.r.WithoutNodes) > 0, Segments: w.r.MaxSegments > 0,
	} {
		if is {
			c |= kind
		}
	}
	return c
}

// explain is asked after a search that found nothing.
func (w *Workspace) explain() *Explanation {
	e := &Explanation{From: w.r.From, To: w.r.To, graph: w.g, request: w.r}
	given := w.given()
	if w.try(e, given, w.hopsAlone()) != found {
		e.Disconnected = !e.Undecided
		return e
	}
	for kind := Rate; kind < behind; kind <<= 1 {
		if given&kind == 0 {
			continue
		}
		if r, ok := w.relax(e, kind); ok {
			r.Kind, r.Path = kind, w.path().Clone()
			e.Relaxations = append(e.Relaxations, r)
		}
	}
	if len(e.Relaxations) == 0 {
		e.Together = w.together(e, given)
	}
	return e
}

// try searches with some kinds lifted.
func (w *Workspace) try(e *Explanation, lifted Constraint, weights []uint32) outcome {
	w.lift(lifted)
	got := w.search(weights)
	e.Undecided = e.Undecided || got == undecided
	return got
}

func (w *Workspace) metric() []uint32    { return w.g.Weights(w.r.Metric) }
func (w *Workspace) hopsAlone() []uint32 { return w.g.Weights(graph.Hops) }

// relax finds the least change of one kind, and leaves the path that it makes.
func (w *Workspace) relax(e *Explanation, kind Constraint) (Relaxation, bool) {
	switch kind {
	case Rate:
		return w.relaxRate(e)
	case Delay:
		return w.relaxDelay(e)
	case Hops:
		if w.try(e, Hops, w.hopsAlone()) != found {
			return Relaxation{}, false
		}
		return Relaxation{By: int64(len(w.links) - w.r.MaxHops)}, true
	case SRLGs:
		return w.relaxGroups(e)
	case LooseHops:
		return w.relaxStops(e)
	case Segments:
		return w.relaxSegments(e)
	}
	return w.relaxMarks(e, kind)
}

// relaxRate finds the greatest rate that a path has: one of the amounts that links have free, or none.
func (w *Workspace) relaxRate(e *Explanation) (Relaxation, bool) {
	if w.try(e, Rate, w.metric()) != found {
		return Relaxation{}, false
	}
	amounts := w.amounts(w.r.Rate)
	amounts[0] = 0
	rate, got := w.greatest(amounts)
	e.Undecided = e.Undecided || got == undecided
	return Relaxation{By: w.r.Rate - rate, Short: w.short()}, true
}

// short lists what the links of the last path lack.
func (w *Workspace) short() []Shortfall {
	var out []Shortfall
	for _, l := range w.links {
		if free := max(w.freeOn(l), 0); free < w.r.Rate {
			out = append(out, Shortfall{Link: l, Free: free, Lacks: w.r.Rate - free})
		}
	}
	return out
}

// relaxDelay finds the fastest path; if links of unknown delay bar all, the path with the fewest of them.
func (w *Workspace) relaxDelay(e *Explanation) (Relaxation, bool) {
	bound := w.r.MaxDelay
	if bound > 0 {
		w.r.MaxDelay = 1 << 62
		got := w.try(e, 0, w.g.Weights(graph.Delay))
		w.r.MaxDelay = bound
		if got == found {
			return Relaxation{By: w.path().Sum(w.g, graph.Delay) - bound}, true
		}
	}
	return w.relaxMarks(e, Delay)
}

// relaxMarks finds the path with the fewest links, or nodes, that break the kind.
func (w *Workspace) relaxMarks(e *Explanation, kind Constraint) (Relaxation, bool) {
	penalty := make([]uint32, w.g.Links())
	for l := range int32(w.g.Links()) {
		if w.marked(l, kind) {
			penalty[l] = 1
		}
	}
	if w.try(e, kind, penalty) != found {
		return Relaxation{}, false
	}
	var r Relaxation
	if kind == Nodes {
		for _, n := range w.nodes {
			if w.noNode[n] == w.request {
				r.Nodes = append(r.Nodes, n)
			}
		}
		return r, true
	}
	for _, l := range w.links {
		if penalty[l] > 0 {
			r.Links = append(r.Links, l)
		}
	}
	return r, true
}

// marked reports whether a link breaks the kind; an excluded node counts where it is entered.
func (w *Workspace) marked(l int32, kind Constraint) bool {
	if kind == Nodes {
		return w.noNode[w.raw.To[l]] == w.request
	}
	return w.broken(l)&kind != 0
}

package cspf

import (
	"math"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/kshortest"
	"github.com/millrace/millrace/services/paths/segments"
	"github.com/millrace/millrace/services/paths/spf"
)

// Workspace is the memory of searches, kept from one to the next so that none allocates. Its zero value is ready. It
// serves one search at a time, on any graph.
type Workspace struct {
	g   *graph.Graph
	raw graph.Raw
	r   Request
	// rate is the request's, or what a relaxation tries.
	rate int64
	// lifted constraints are not looked at.
	lifted Constraint

	// request marks what the request excludes; round marks verdicts.
	request, round         uint32
	noNode, noLink, noRisk []uint32
	// verdict of a link is round<<1, plus 1 if it may be used.
	verdict []uint32
	freed   []uint32 // request number where free is known
	free    []int64

	queue  spf.Queue
	key    []uint64 // best (cost, hops) to a node; or from it to the end, per stage
	delays []uint64 // least (delay, hops) from a node to the end, per stage
	hops   []uint64 // fewest hops, twice, from a node to the end, per stage
	via    []int32  // the last link of the best path to a node

	labels []label
	heads  []int32 // latest settled label, per stage and node

	finder segments.Finder
	paths  kshortest.Search
	mask   []bool

	weights []uint32 // what the present search adds up
	nodes   []int32
	links   []int32
}

// begin takes over a request.
func (w *Workspace) begin(g *graph.Graph, r *Request) {
	w.g, w.raw, w.r, w.rate = g, g.Raw(), *r, r.Rate
	if len(w.verdict) < g.Links() || len(w.noNode) < g.Nodes() || w.request > math.MaxUint32/2 || w.round > math.MaxUint32/4 {
		w.grow()
	}
	w.request++
	for _, n := range r.WithoutNodes {
		w.noNode[n] = w.request
	}
	for _, l := range r.WithoutLinks {
		w.noLink[l] = w.request
	}
	for _, group := range r.WithoutSRLGs {
		for _, l := range g.Members(group) {
			w.noRisk[l] = w.request
		}
	}
	w.lift(0)
}

// grow makes the arrays anew, so that no mark is left.
func (w *Workspace) grow() {
	n, m := w.g.Nodes(), w.g.Links()
	w.request, w.round = 0, 0
	w.noNode, w.noLink, w.noRisk = make([]uint32, n), make([]uint32, m), make([]uint32, m)
	w.verdict, w.freed, w.free = make([]uint32, m), make([]uint32, m), make([]int64, m)
}

// lift sets aside some constraints, and forgets the verdicts about links.
func (w *Workspace) lift(c Constraint) {
	w.lifted = c
	w.round++
}

// usable reports whether a link meets what can be said of one link.
func (w *Workspace) usable(l int32) bool {
	if v := w.verdict[l]; v>>1 == w.round {
		return v&1 == 1
	}
	ok := w.broken(l)&^w.lifted == 0 && (w.rate == 0 || w.lifted&Rate != 0 || w.freeOn(l) >= w.rate)
	w.verdict[l] = w.round << 1
	if ok {
		w.verdict[l]++
	}
	return ok
}

// broken are the constraints, but the rate, that the link does not meet.
func (w *Workspace) broken(l int32) Constraint {
	var c Constraint
	if w.noNode[w.raw.From[l]] == w.request || w.noNode[w.raw.To[l]] == w.request {
		c |= Nodes
	}
	if w.noLink[l] == w.request {
		c |= Links
	}
	if w.timed() && w.g.Weights(graph.Delay)[l] == graph.DelayUnknown {
		c |= Delay
	}
	if w.r.IncludeAny|w.r.IncludeAll|w.r.Exclude != 0 && !w.coloured(w.g.Affinity(l)) {
		c |= Affinity
	}
	if w.noRisk[l] == w.request {
		c |= SRLGs
	}
	return c
}

// timed reports whether delays must be known.
func (w *Workspace) timed() bool { return w.r.MaxDelay > 0 || w.r.Metric == graph.Delay }

// coloured reports whether affinity bits meet the request (RFC 3209 section 4.7.4).
func (w *Workspace) coloured(bits uint64) bool {
	any := w.r.IncludeAny
	return bits&w.r.Exclude == 0 && bits&w.r.IncludeAll == w.r.IncludeAll && (any == 0 || bits&any != 0)
}

// freeOn asks once per request.
func (w *Workspace) freeOn(l int32) int64 {
	if w.freed[l] != w.request {
		w.freed[l] = w.request
		if w.r.Free != nil {
			w.free[l] = w.r.Free(l)
		} else {
			w.free[l] = w.g.Capacity(l)
		}
	}
	return w.free[l]
}

// sized returns s with n entries, each set to v.
func sized[T any](s []T, n int, v T) []T {
	if cap(s) < n {
		s = make([]T, n)
	}
	s = s[:n]
	for i := range s {
		s[i] = v
	}
	return s
}

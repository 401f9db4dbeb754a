package cspf

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/graph/graphtest"
)

// TestTheBestPathIsThatOfAllPaths also checks each part of an explanation against all paths.
func TestTheBestPathIsThatOfAllPaths(t *testing.T) {
	var w, other Workspace
	paths, refusals := 0, 0
	for seed := range uint64(8000) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		g := randomGraph(rnd)
		r := randomRequest(rnd, g)
		all := graphtest.SimplePaths(g, nil, r.From, r.To)
		got, err := w.Find(g, r)
		only, none := other.FindOnly(g, r)
		best, ok := bestOf(g, r, all, 0)
		if ok != (none == nil) || !ok && !errors.Is(none, ErrNone) || ok && !slices.Equal(only.Links, got.Links) {
			t.Fatalf("seed %d: without an explanation %v, %v, with one %v, %v", seed, only, none, got, err)
		}
		if !ok {
			var why *Explanation
			if !errors.As(err, &why) {
				t.Fatalf("seed %d: error %v for %+v, want an explanation", seed, err, r)
			}
			refusals++
			judge(t, seed, g, r, all, why)
			continue
		}
		paths++
		if err != nil {
			t.Fatalf("seed %d: %v for %+v, but there is a path of cost %d", seed, err, r, best.cost)
		}
		valid(t, seed, g, r, got)
		if f := factsOf(g, r, got.Links); f.breaks(r) != 0 || f.cost != best.cost || f.hops != best.hops || got.Cost != f.cost {
			t.Fatalf("seed %d: %+v breaks %q; the best costs %d with %d hops, for %+v", seed, got, f.breaks(r), best.cost, best.hops, r)
		}
	}
	if paths < 1500 || refusals < 1500 {
		t.Errorf("%d paths and %d refusals were compared: the requests ask for too much or too little", paths, refusals)
	}
}

// bestOf is the least (cost, hops) of the paths that break no more than is allowed.
func bestOf(g *graph.Graph, r *Request, all [][]int32, allowed Constraint) (best facts, ok bool) {
	for _, p := range all {
		f := factsOf(g, r, p)
		if f.breaks(r)&^allowed == 0 && (!ok || f.cost < best.cost || f.cost == best.cost && f.hops < best.hops) {
			best, ok = f, true
		}
	}
	return best, ok
}

// valid: a chain of links without a loop, and the nodes on it.
func valid(t *testing.T, seed uint64, g *graph.Graph, r *Request, p Path) {
	t.Helper()
	at := r.From
	for i, l := range p.Links {
		if g.From(l) != at || p.Nodes[i] != at || slices.Contains(p.Nodes[:i], at) {
			t.Fatalf("seed %d: %+v is no path without a loop", seed, p)
		}
		at = g.To(l)
	}
	if at != r.To || len(p.Nodes) != len(p.Links)+1 || p.Nodes[len(p.Links)] != at {
		t.Fatalf("seed %d: %+v does not end at %d", seed, p, r.To)
	}
}

// judge compares an explanation with what all paths say.
func judge(t *testing.T, seed uint64, g *graph.Graph, r *Request, all [][]int32, why *Explanation) {
	t.Helper()
	if why.Undecided || why.Disconnected != (len(all) == 0) || why.Error() == "" {
		t.Fatalf("seed %d: %+v, with %d paths in all", seed, why, len(all))
	}
	var relaxed Constraint
	for _, x := range why.Relaxations {
		if x.Kind <= relaxed {
			t.Fatalf("seed %d: relaxations out of order: %v", seed, why)
		}
		relaxed |= x.Kind
		valid(t, seed, g, r, x.Path)
		if f := factsOf(g, r, x.Path.Links); f.breaks(r) != x.Kind {
			t.Fatalf("seed %d: the path without %s breaks %q", seed, x.Kind, f.breaks(r))
		}
		least(t, seed, g, r, all, x)
	}
	for kind := Rate; kind < behind; kind <<= 1 {
		if _, ok := bestOf(g, r, all, kind); ok != (relaxed&kind != 0) {
			t.Fatalf("seed %d: relaxation of %s: %v, but possible: %v", seed, kind, relaxed&kind != 0, ok)
		}
	}
	if (why.Together != 0) != (relaxed == 0 && len(all) > 0) {
		t.Fatalf("seed %d: together %q beside %q", seed, why.Together, relaxed)
	}
	if why.Together == 0 {
		return
	}
	if _, ok := bestOf(g, r, all, why.Together); !ok {
		t.Fatalf("seed %d: %s lifted together is not enough", seed, why.Together)
	}
	for kind := Rate; kind < behind; kind <<= 1 {
		if _, ok := bestOf(g, r, all, why.Together&^kind); ok && why.Together&kind != 0 {
			t.Fatalf("seed %d: of %s, %s was not needed", seed, why.Together, kind)
		}
	}
}

// least checks the amount of one relaxation.
func least(t *testing.T, seed uint64, g *graph.Graph, r *Request, all [][]int32, x Relaxation) {
	t.Helper()
	amount := map[Constraint]func(facts) int64{
		Rate:     func(f facts) int64 { return r.Rate - f.rate },
		Hops:     func(f facts) int64 { return int64(f.hops - r.MaxHops) },
		Affinity: func(f facts) int64 { return int64(f.affinity) },
		Links:    func(f facts) int64 { return int64(f.links) },
		Nodes:    func(f facts) int64 { return int64(f.nodes) },
		Delay: func(f facts) int64 { // a known delay is better than any unknown one
			if f.unknown > 0 {
				return 1<<40 + int64(f.unknown)
			}
			return f.delay - r.MaxDelay
		},
		SRLGs: func(f facts) int64 { return min(2, int64(len(f.groups))) },
		Segments: func(f facts) int64 {
			if f.segments < 0 {
				return 1 << 20
			}
			return int64(f.segments - r.MaxSegments)
		},
	}[x.Kind]
	if amount == nil {
		stops(t, seed, g, r, all, x)
		return
	}
	want := int64(1) << 62
	for _, p := range all {
		if f := factsOf(g, r, p); f.breaks(r) == x.Kind {
			want = min(want, amount(f))
		}
	}
	got := map[Constraint]int64{
		Rate: x.By, Hops: x.By, Delay: x.By, Affinity: int64(len(x.Links)), Links: int64(len(x.Links)), Nodes: int64(len(x.Nodes)),
		SRLGs: min(2, int64(len(x.Groups))), Segments: x.By,
	}[x.Kind]
	if x.Kind == Segments && x.By == 0 {
		got = 1 << 20
	}
	if x.Kind == Delay && x.By == 0 {
		got = 1<<40 + int64(len(x.Links))
	}
	if got != want {
		t.Fatalf("seed %d: relaxation %+v: %d, but %d is enough; %+v", seed, x, got, want, r)
	}
	if x.Kind == SRLGs {
		groups(t, seed, g, r, all, x)
	}
	if f := factsOf(g, r, x.Path.Links); amount(f) != want {
		t.Fatalf("seed %d: relaxation %+v: its path needs %d", seed, x, amount(f))
	}
	for _, s := range x.Short {
		if s.Free != max(0, r.Free(s.Link)) || s.Free+s.Lacks != r.Rate || s.Lacks <= 0 {
			t.Fatalf("seed %d: shortfall %+v of %d", seed, s, r.Rate)
		}
	}
}

// groups: these are enough, and none of them can be left out; of single ones, it is that of the cheapest path.
func groups(t *testing.T, seed uint64, g *graph.Graph, r *Request, all [][]int32, x Relaxation) {
	t.Helper()
	allowed := x.Groups
	cost := func(allowed []uint32) (int64, bool) {
		less := *r
		less.WithoutSRLGs = slices.DeleteFunc(slices.Clone(r.WithoutSRLGs), func(group uint32) bool { return slices.Contains(allowed, group) })
		best, ok := bestOf(g, &less, all, 0)
		return best.cost, ok
	}
	try := func(allowed []uint32) bool { _, ok := cost(allowed); return ok }
	if !try(allowed) {
		t.Fatalf("seed %d: groups %v are not enough", seed, allowed)
	}
	for _, single := range r.WithoutSRLGs {
		if best, ok := cost([]uint32{single}); ok && best < x.Path.Cost {
			t.Fatalf("seed %d: groups %v make a path of cost %d, %d one of cost %d", seed, allowed, x.Path.Cost, single, best)
		}
	}
	for i := range allowed {
		if try(slices.Delete(slices.Clone(allowed), i, i+1)) {
			t.Fatalf("seed %d: of the groups %v, %d is not needed", seed, allowed, allowed[i])
		}
	}
}

// stops: one loose hop left out if that is enough, with the cheapest path; else all.
func stops(t *testing.T, seed uint64, g *graph.Graph, r *Request, all [][]int32, x Relaxation) {
	t.Helper()
	single := int64(-1)
	for i := range r.Via {
		less := *r
		less.Via = slices.Delete(slices.Clone(r.Via), i, i+1)
		if best, ok := bestOf(g, &less, all, 0); ok && (single < 0 || best.cost < single) {
			single = best.cost
		}
	}
	switch {
	case single >= 0 && (len(x.Nodes) != 1 || x.Path.Cost != single):
		t.Fatalf("seed %d: %+v, but leaving out one loose hop makes a path of cost %d", seed, x, single)
	case single < 0 && len(x.Nodes) != len(r.Via):
		t.Fatalf("seed %d: %+v, but no single loose hop of %v is enough", seed, x, r.Via)
	}
}

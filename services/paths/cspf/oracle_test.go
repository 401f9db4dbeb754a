package cspf

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/segments"
)

// The oracle: everything by enumeration of all paths without a loop.

// facts are what a path is judged by.
type facts struct {
	cost                            int64
	hops                            int
	rate                            int64 // the least that is free
	delay                           int64
	unknown, affinity, links, nodes int // how many links, or nodes, break it
	groups                          []uint32
	missed                          bool // a loose hop, or their order
	segments                        int  // -1: no list pins it
}

func factsOf(g *graph.Graph, r *Request, path []int32) facts {
	f := facts{hops: len(path), rate: 1 << 62}
	nodes := []int32{r.From}
	for _, l := range path {
		k := g.Link(l)
		f.cost += int64(g.Weights(r.Metric)[l])
		f.delay += int64(k.Delay)
		f.rate = min(f.rate, max(0, r.Free(l)))
		if k.Delay == graph.DelayUnknown && (r.MaxDelay > 0 || r.Metric == graph.Delay) {
			f.unknown++
		}
		if k.Affinity&r.Exclude != 0 || k.Affinity&r.IncludeAll != r.IncludeAll || r.IncludeAny != 0 && k.Affinity&r.IncludeAny == 0 {
			f.affinity++
		}
		if slices.Contains(r.WithoutLinks, l) {
			f.links++
		}
		for _, group := range k.SRLGs {
			if slices.Contains(r.WithoutSRLGs, group) && !slices.Contains(f.groups, group) {
				f.groups = append(f.groups, group)
			}
		}
		nodes = append(nodes, k.To)
	}
	at := 0
	for _, n := range nodes {
		if slices.Contains(r.WithoutNodes, n) {
			f.nodes++
		}
		if at < len(r.Via) && n == r.Via[at] {
			at++
		}
	}
	f.missed = at < len(r.Via)
	f.segments = new(segments.Finder).Count(g, path, &r.SIDs)
	return f
}

// breaks are the kinds that a path does not meet.
func (f *facts) breaks(r *Request) Constraint {
	var c Constraint
	for kind, is := range map[Constraint]bool{
		Rate: f.rate < r.Rate, Delay: f.unknown > 0 || r.MaxDelay > 0 && f.delay > r.MaxDelay, Hops: r.MaxHops > 0 && f.hops > r.MaxHops,
		SRLGs: len(f.groups) > 0, Affinity: f.affinity > 0, LooseHops: f.missed, Links: f.links > 0, Nodes: f.nodes > 0,
		Segments: r.MaxSegments > 0 && (f.segments < 0 || f.segments > r.MaxSegments),
	} {
		if is {
			c |= kind
		}
	}
	return c
}

// randomGraph has few routers and small numbers, so that ties, parallel links and one-way links are common.
func randomGraph(rnd *rand.Rand) *graph.Graph {
	n := 2 + rnd.IntN(6)
	var nodes []graph.Node
	for i := range n {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint("n", i)})
	}
	var links []graph.Link
	for i := range n + rnd.IntN(3*n) {
		l := graph.Link{
			ID: fmt.Sprint("l", i), From: rnd.Int32N(int32(n)), To: rnd.Int32N(int32(n)), IGP: 1 + rnd.Uint32N(4), TE: 1 + rnd.Uint32N(4),
			Delay: rnd.Uint32N(5), Capacity: rnd.Int64N(4) * 100, Affinity: rnd.Uint64N(8),
		}
		if rnd.IntN(8) == 0 {
			l.Delay = graph.DelayUnknown
		}
		for range rnd.IntN(3) {
			l.SRLGs = append(l.SRLGs, 1+rnd.Uint32N(4))
		}
		if l.From != l.To {
			links = append(links, l)
		}
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		panic(err)
	}
	return g
}

// randomRequest has each constraint in one of five requests.
func randomRequest(rnd *rand.Rand, g *graph.Graph) *Request {
	n := int32(g.Nodes())
	r := &Request{From: rnd.Int32N(n), Metric: graph.Metric(rnd.IntN(4)), Free: g.Capacity}
	r.To = (r.From + 1 + rnd.Int32N(n-1)) % n
	sometimes := func(do func()) {
		if rnd.IntN(5) == 0 {
			do()
		}
	}
	sometimes(func() { r.Rate = 1 + rnd.Int64N(320) })
	sometimes(func() { r.MaxDelay = 1 + rnd.Int64N(8) })
	sometimes(func() { r.MaxHops = 1 + rnd.IntN(4) })
	sometimes(func() { r.MaxSegments = 1 + rnd.IntN(2) })
	sometimes(func() {
		for range g.Links() {
			r.SIDs.Adjacency = append(r.SIDs.Adjacency, rnd.IntN(2) > 0)
		}
	})
	sometimes(func() { r.IncludeAny = rnd.Uint64N(8) })
	sometimes(func() { r.IncludeAll = 1 << rnd.IntN(3) })
	sometimes(func() { r.Exclude = 1 << rnd.IntN(3) })
	sometimes(func() {
		for range 1 + rnd.IntN(2) {
			r.WithoutSRLGs = append(r.WithoutSRLGs, 1+rnd.Uint32N(5))
		}
	})
	sometimes(func() {
		for range 1 + rnd.IntN(3) {
			r.WithoutNodes = append(r.WithoutNodes, rnd.Int32N(n))
		}
	})
	sometimes(func() {
		if g.Links() > 0 {
			r.WithoutLinks = append(r.WithoutLinks, rnd.Int32N(int32(g.Links())), rnd.Int32N(int32(g.Links())))
		}
	})
	sometimes(func() {
		for _, v := range rnd.Perm(int(n))[:1+rnd.IntN(2)] {
			if int32(v) != r.From && int32(v) != r.To {
				r.Via = append(r.Via, int32(v))
			}
		}
	})
	return r
}

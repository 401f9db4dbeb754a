// Package cspf finds the best path under constraints: bandwidth, delay, hops, affinities, shared risk link groups,
// loose hops, excluded routers and links, length of the segment list; and where there is none, it says which constraint
// binds and what the least relaxation is.
//
// In: a graph.Graph and a Request, with what is free on each link. Out: a Path, or an Explanation. Next: packages that
// book or route the request.
//
// Without bounds on delay or hops this is Dijkstra's algorithm. With them it is a resource-constrained shortest path,
// found by label setting with dominance, exact within a stated number of labels (Request.MaxLabels). If the best path
// needs more segments than allowed, paths are listed from the best on up to a stated number (Request.MaxLists).
//
// Nothing here has a clock, a network or a goroutine, and equal input gives equal output.
//
// Mutation testing: 371 of 374 killed (docs/reference/mutants.md).
package cspf

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/segments"
)

// DefaultLabels bounds the labels of one search: 2^18 of them take 15 MB, and a fraction of a second.
const DefaultLabels = 1 << 18

// DefaultLists bounds the paths that are looked at for a list of few segments.
const DefaultLists = 256

// Request describes the best path: the least sum of the metric, then the fewest hops. A zero field constrains nothing.
type Request struct {
	From, To int32
	Metric   graph.Metric
	// Rate in bit/s that every link must have free.
	Rate int64
	// Free is how much a link has free, in bit/s; nil: its capacity. It is asked at most once per link while a path
	// is searched, and only about links that meet all else.
	Free func(link int32) int64
	// MaxDelay in microseconds. With it, and with the metric Delay, links of unknown delay are not used.
	MaxDelay int64
	MaxHops  int
	// IncludeAny wants links with at least one of the bits, IncludeAll with all, Exclude with none (RFC 3209 section
	// 4.7.4).
	IncludeAny, IncludeAll, Exclude uint64
	// Via are routers to pass in this order (loose hops). They are neither ends nor named twice.
	Via []int32
	// WithoutNodes, WithoutLinks and WithoutSRLGs are not used.
	WithoutNodes, WithoutLinks []int32
	WithoutSRLGs               []uint32
	// MaxSegments is the most segments that may be needed to pin the path (maximum SID depth), of what SIDs offers.
	MaxSegments int
	SIDs        segments.SIDs
	// MaxLists bounds the paths looked at for MaxSegments, from the best on; 0 is DefaultLists. A search that reaches
	// it has no answer.
	MaxLists int
	// MaxLabels bounds a search with delay, hops or loose hops; 0 is DefaultLabels. A search that reaches it has no
	// answer.
	MaxLabels int
}

// Path is one way through the network. Its slices belong to the workspace until its next search; Clone keeps them.
type Path struct {
	// Nodes in order, ends included.
	Nodes []int32
	Links []int32
	// Cost is the sum of the request's metric.
	Cost int64
}

// Clone makes a path that lasts.
func (p Path) Clone() Path {
	p.Nodes, p.Links = slices.Clone(p.Nodes), slices.Clone(p.Links)
	return p
}

// Sum adds up a metric along the path. A link of unknown delay adds graph.DelayUnknown.
func (p Path) Sum(g *graph.Graph, m graph.Metric) (sum int64) {
	weights := g.Weights(m)
	for _, l := range p.Links {
		sum += int64(weights[l])
	}
	return sum
}

// check refuses a request that is invalid on any network.
func (r *Request) check(g *graph.Graph) error {
	n := int32(g.Nodes())
	if r.From < 0 || r.From >= n || r.To < 0 || r.To >= n {
		return fmt.Errorf("a path from node %d to node %d was requested; there are %d nodes", r.From, r.To, n)
	}
	if r.From == r.To {
		return fmt.Errorf("both ends are %s; name two different routers", g.Node(r.From).Name)
	}
	if r.Metric > graph.Hops {
		return fmt.Errorf("there is no metric number %d", r.Metric)
	}
	if min(r.Rate, r.MaxDelay, int64(r.MaxHops), int64(r.MaxSegments), int64(r.MaxLabels), int64(r.MaxLists)) < 0 {
		return fmt.Errorf("rate %d bit/s, at most %d µs, %d hops, %d segments, %d labels and %d lists: none may be negative",
			r.Rate, r.MaxDelay, r.MaxHops, r.MaxSegments, r.MaxLabels, r.MaxLists)
	}
	if s := r.SIDs; s.Node != nil && len(s.Node) != g.Nodes() || s.Adjacency != nil && len(s.Adjacency) != g.Links() ||
		s.Absent != nil && len(s.Absent) != g.Links() {
		return fmt.Errorf("SIDs of %d nodes and %d links; there are %d and %d", len(s.Node), len(s.Adjacency), g.Nodes(), g.Links())
	}
	return r.checkNames(g)
}

// checkNames refuses loose hops and exclusions of what does not exist.
func (r *Request) checkNames(g *graph.Graph) error {
	n := int32(g.Nodes())
	if most := graph.MaxNodes/g.Nodes() - 1; len(r.Via) > most {
		return fmt.Errorf("%d loose hops; with %d nodes at most %d", len(r.Via), g.Nodes(), most)
	}
	for i, v := range r.Via {
		if v < 0 || v >= n {
			return fmt.Errorf("loose hop %d does not exist; there are %d nodes", v, n)
		}
		if v == r.From || v == r.To || slices.Contains(r.Via[:i], v) {
			return fmt.Errorf("loose hop %s is an end or comes twice; a path without a loop passes it once", g.Node(v).Name)
		}
	}
	for _, v := range r.WithoutNodes {
		if v < 0 || v >= n {
			return fmt.Errorf("excluded node %d does not exist; there are %d nodes", v, n)
		}
	}
	for _, l := range r.WithoutLinks {
		if l < 0 || int(l) >= g.Links() {
			return fmt.Errorf("excluded link %d does not exist; there are %d links", l, g.Links())
		}
	}
	return nil
}

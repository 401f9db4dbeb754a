package compute

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"net/netip"

	"github.com/millrace/millrace/internal/topo"
)

// ErrNoPath is wrapped by every error that says that the network has no such
// path, as opposed to an invalid request.
var ErrNoPath = errors.New("no path")

// Request describes one explicit path.
type Request struct {
	From, To *topo.Node
	// MinBandwidth in bit/s: narrower links, and links of unknown bandwidth, are not used. 0 asks nothing.
	MinBandwidth uint64
	// AvoidShortest keeps off the links that the IGP uses between the ends, as far as possible (paper 002, section I:
	// alpha flows go to paths of their own, so that beta keeps the shortest).
	AvoidShortest bool
	ExcludeNodes  []*topo.Node
	ExcludeLinks  []*topo.Link
}

// CSPF finds the best path under the request's constraints that a list of SIDs
// can express: first the fewest links of routers that are taken out of transit, then
// the least links shared with the shortest paths (where AvoidShortest), then the least
// IGP cost, then the fewest hops.
func CSPF(g *topo.Graph, r Request) (*Path, error) {
	if r.From.ID == r.To.ID {
		return nil, sameEnds(r.From)
	}
	s := newSearch(g, r)
	links := s.run(func(l *topo.Link) bool { return s.allowed(l) && s.wide(l) && s.expressible(l) })
	if links == nil {
		return nil, s.explain()
	}
	p := newPath(g, r.From, links)
	if err := p.pin(g); err != nil {
		return nil, fmt.Errorf("path %s: %w", describe(p), err)
	}
	p.Reason = s.reason(p)
	return p, nil
}

// search is one CSPF run.
type search struct {
	g *topo.Graph
	r Request
	// shortest are the links the IGP uses between the ends, without any constraint.
	shortest map[string]bool
	tree     *Tree
	// near caches, per router, shortest paths to its neighbours.
	near  map[netip.Addr]*Tree
	nodes map[netip.Addr]bool
	links map[string]bool
}

func newSearch(g *topo.Graph, r Request) *search {
	s := &search{g: g, r: r, near: map[netip.Addr]*Tree{}, nodes: map[netip.Addr]bool{}, links: map[string]bool{}}
	s.tree = SPF(g, r.From.ID)
	s.shortest = s.tree.Used(r.To.ID)
	for _, n := range r.ExcludeNodes {
		s.nodes[n.ID] = true
	}
	for _, l := range r.ExcludeLinks {
		s.links[l.ID] = true
	}
	return s
}

// allowed: not excluded by name.
func (s *search) allowed(l *topo.Link) bool {
	return !s.links[l.ID] && !s.nodes[l.From] && !s.nodes[l.To]
}

func (s *search) wide(l *topo.Link) bool { return l.Bandwidth >= s.r.MinBandwidth }

// expressible: a SID can pin the link. A path can be written as SIDs exactly if each
// of its links can: a segment that covers the link is a unique shortest path, and so
// is every part of it.
func (s *search) expressible(l *topo.Link) bool {
	if !s.onward(l) {
		return false
	}
	if hasAdjacencySID(l) {
		return true
	}
	t := s.near[l.From]
	if t == nil {
		var furthest uint64
		for _, out := range s.g.Out(l.From) {
			furthest = max(furthest, uint64(out.Metric))
		}
		t = spf(s.g, l.From, furthest)
		s.near[l.From] = t
	}
	return pinned(t, l)
}

// maxLinkMetric is what the links of a router cost that others are not to send traffic through, unless there is no
// other way (RFC 6987, section 2): it has just started, or is about to be taken away.
const maxLinkMetric = 0xffff

func outOfTransit(l *topo.Link) bool { return l.Metric >= maxLinkMetric }

// onward: packets with labels get as far as the link.
func (s *search) onward(l *topo.Link) bool {
	return l.From == s.r.From.ID || PassesLabels(s.g, s.g.Node(l.From))
}

// weight orders paths: links that are out of transit first, then overlap, then IGP cost, then hops.
type weight struct {
	out     uint64
	overlap uint64
	cost    uint64
	hops    uint64
}

func (a weight) less(b weight) bool {
	return cmp.Or(cmp.Compare(a.out, b.out), cmp.Compare(a.overlap, b.overlap), cmp.Compare(a.cost, b.cost), cmp.Compare(a.hops, b.hops)) < 0
}

func (s *search) add(w weight, l *topo.Link) weight {
	if s.r.AvoidShortest && s.shortest[l.ID] {
		w.overlap++
	}
	if outOfTransit(l) {
		w.out++
	}
	return weight{w.out, w.overlap, w.cost + uint64(l.Metric), w.hops + 1}
}

// run is Dijkstra's algorithm over weights and usable links; nil if there is no path.
func (s *search) run(usable func(*topo.Link) bool) []*topo.Link {
	best := map[netip.Addr]weight{s.r.From.ID: {}}
	via := map[netip.Addr]*topo.Link{}
	done := map[netip.Addr]bool{}
	q := &queue[weight]{less: weight.less}
	heap.Push(q, entry[weight]{node: s.r.From.ID})
	for q.Len() > 0 && !done[s.r.To.ID] {
		at := heap.Pop(q).(entry[weight])
		if done[at.node] {
			continue
		}
		done[at.node] = true
		for _, l := range s.g.Out(at.node) {
			w := s.add(at.cost, l)
			if old, known := best[l.To]; (known && !w.less(old)) || !usable(l) {
				continue
			}
			best[l.To], via[l.To] = w, l
			heap.Push(q, entry[weight]{node: l.To, cost: w})
		}
	}
	if !done[s.r.To.ID] {
		return nil
	}
	return trace(via, s.r.From.ID, s.r.To.ID)
}

func trace(via map[netip.Addr]*topo.Link, from, to netip.Addr) []*topo.Link {
	var rev []*topo.Link
	for at := to; at != from; at = via[at].From {
		rev = append(rev, via[at])
	}
	return reversed(rev)
}

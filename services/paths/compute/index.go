package compute

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/segments"
	shortest "github.com/millrace/millrace/services/paths/spf"
)

// Index answers CSPF and ECMP as the functions of these names do, on dense numbers and with what hangs on the topology
// alone worked out once. Where there is no path it asks the functions, which say why.
type Index struct {
	topo   *topo.Graph
	g      *graph.Graph
	number map[netip.Addr]int32
	links  []*topo.Link
	// pinned tells, by link, whether a SID can pin it.
	pinned []bool
	sids   segments.SIDs
	// dropped are the links that leave routers which drop packets with labels: only they themselves send over them.
	dropped []int32
}

// NewIndex works out what the topology alone decides.
func NewIndex(t *topo.Graph) (*Index, error) {
	g, err := graph.FromTopology(t)
	if err != nil {
		return nil, err
	}
	x := &Index{topo: t, g: g, number: make(map[netip.Addr]int32, g.Nodes()), links: make([]*topo.Link, g.Links())}
	for i, n := range t.Nodes() {
		x.number[n.ID] = int32(i)
	}
	x.sids = SIDs(t, g)
	x.pinned = new(segments.Finder).Pinned(g)
	for l := range int32(g.Links()) {
		x.links[l] = t.Link(g.Link(l).ID)
		x.pinned[l] = x.pinned[l] || x.sids.Adjacency[l]
		if !PassesLabels(t, t.Node(x.links[l].From)) {
			x.dropped = append(x.dropped, l)
		}
	}
	return x, nil
}

// ECMP is the function's answer.
func (x *Index) ECMP(from, to *topo.Node) ([]*Path, error) {
	if from.ID == to.ID {
		return nil, sameEnds(from)
	}
	return ecmp(x.topo, x.tree(from, to), from, to)
}

// CSPF is the function's answer.
func (x *Index) CSPF(r Request) (*Path, error) {
	if r.From.ID == r.To.ID {
		return nil, sameEnds(r.From)
	}
	s := x.search(r)
	numbers := x.run(s)
	list, ok := new(segments.Finder).List(x.g, numbers, &x.sids)
	if len(numbers) == 0 || !ok {
		return CSPF(x.topo, r)
	}
	links := make([]*topo.Link, 0, len(numbers))
	for _, l := range numbers {
		links = append(links, x.links[l])
	}
	p := newPath(x.topo, r.From, links)
	x.write(p, list)
	p.Reason = s.reason(p)
	return p, nil
}

// write puts segments into a path.
func (x *Index) write(p *Path, list []segments.Segment) {
	for _, one := range list {
		if one.Link >= 0 {
			p.addSegment(x.topo, x.links[one.Link], netip.Addr{})
		} else {
			p.addSegment(x.topo, nil, x.topo.Nodes()[one.Node].ID)
		}
	}
}

func (x *Index) search(r Request) *search {
	s := &search{g: x.topo, r: r, tree: x.tree(r.From, r.To)}
	s.shortest = s.tree.Used(r.To.ID)
	return s
}

// tree is that of SPF as far as it leads from one router to the other. The last links of a router stand in the order in
// which SPF meets them: that of cost, then router, then link.
func (x *Index) tree(from, to *topo.Node) *Tree {
	costs := make([]uint64, x.g.Nodes())
	new(shortest.Search).Costs(x.g, graph.IGP, x.number[from.ID], costs)
	t := &Tree{Root: from.ID, Cost: map[netip.Addr]uint64{from.ID: 0}, Via: map[netip.Addr][]*topo.Link{}}
	if costs[x.number[to.ID]] == shortest.Unreached {
		return t
	}
	weights := x.g.Weights(graph.IGP)
	for todo := []int32{x.number[to.ID]}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		id := x.topo.Nodes()[at].ID
		if _, seen := t.Cost[id]; seen {
			continue
		}
		t.Cost[id] = costs[at]
		var last []int32
		for _, l := range x.g.In(at) {
			if costs[x.g.From(l)]+uint64(weights[l]) == costs[at] {
				last = append(last, l)
				todo = append(todo, x.g.From(l))
			}
		}
		slices.SortFunc(last, func(a, b int32) int {
			return cmp.Or(cmp.Compare(costs[x.g.From(a)], costs[x.g.From(b)]), cmp.Compare(a, b))
		})
		for _, l := range last {
			t.Via[id] = append(t.Via[id], x.links[l])
		}
	}
	return t
}

// place is a router in the queue.
type place struct {
	weight weight
	node   int32
}

func (a place) before(b place) bool {
	return a.weight.less(b.weight) || a.weight == b.weight && a.node < b.node
}

// run is that of a search, over links that may be used, are wide enough and can be pinned; nil if there is no path.
func (x *Index) run(s *search) []int32 {
	from, to := x.number[s.r.From.ID], x.number[s.r.To.ID]
	usable := x.usable(s)
	best := make([]weight, x.g.Nodes())
	via := slices.Repeat([]int32{-1}, x.g.Nodes())
	q := places{{node: from}}
	for len(q) > 0 {
		at := q.pop()
		if at.node == to {
			break
		}
		if at.weight != best[at.node] {
			continue
		}
		for l, end := x.g.Out(at.node); l < end; l++ {
			next := x.g.To(l)
			w := s.add(at.weight, x.links[l])
			if next != from && (via[next] < 0 || w.less(best[next])) && usable[l] {
				best[next], via[next] = w, l
				q.push(place{w, next})
			}
		}
	}
	if via[to] < 0 {
		return nil
	}
	var links []int32
	for at := to; at != from; at = x.g.From(via[at]) {
		links = append(links, via[at])
	}
	slices.Reverse(links)
	return links
}

// usable has for each link whether the request allows it.
func (x *Index) usable(s *search) []bool {
	out := slices.Clone(x.pinned)
	for l, link := range x.links {
		out[l] = out[l] && s.wide(link)
	}
	for _, l := range x.dropped {
		out[l] = out[l] && x.links[l].From == s.r.From.ID
	}
	for _, l := range s.r.ExcludeLinks {
		if n, ok := x.g.LinkIndex(l.ID); ok {
			out[n] = false
		}
	}
	for _, n := range s.r.ExcludeNodes {
		at := x.number[n.ID]
		for l, end := x.g.Out(at); l < end; l++ {
			out[l] = false
		}
		for _, l := range x.g.In(at) {
			out[l] = false
		}
	}
	return out
}

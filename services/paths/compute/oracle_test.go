package compute

import (
	"net/netip"
	"slices"

	"github.com/millrace/millrace/internal/topo"
)

// The oracle: everything by enumeration of all simple paths.

func simplePaths(g *topo.Graph, from, to netip.Addr) [][]*topo.Link {
	var out [][]*topo.Link
	var walk func(at netip.Addr, seen map[netip.Addr]bool, path []*topo.Link)
	walk = func(at netip.Addr, seen map[netip.Addr]bool, path []*topo.Link) {
		if at == to {
			out = append(out, append([]*topo.Link(nil), path...))
			return
		}
		seen[at] = true
		for _, l := range g.Out(at) {
			if !seen[l.To] {
				walk(l.To, seen, append(path, l))
			}
		}
		delete(seen, at)
	}
	walk(from, map[netip.Addr]bool{}, nil)
	return out
}

func costOf(path []*topo.Link) (sum uint64) {
	for _, l := range path {
		sum += uint64(l.Metric)
	}
	return sum
}

func shortestOf(g *topo.Graph, from, to netip.Addr) (best [][]*topo.Link) {
	for _, p := range simplePaths(g, from, to) {
		switch {
		case len(best) == 0 || costOf(p) < costOf(best[0]):
			best = [][]*topo.Link{p}
		case costOf(p) == costOf(best[0]):
			best = append(best, p)
		}
	}
	return best
}

// followed forwards over every branch: from each router on a packet's way by all shortest paths to the next segment, or
// over the link whose far end it names.
func followed(g *topo.Graph, from *topo.Node, p *Path) bool {
	at, done := from.ID, 0
	for _, s := range p.Segments {
		part := p.Links[done:]
		if slices.Contains(p.Adjacencies, s) {
			if len(part) == 0 || part[0].From != at || part[0].RemoteAddress != s {
				return false
			}
			at, done = part[0].To, done+1
			continue
		}
		ways := shortestOf(g, at, s)
		if len(ways) != 1 || len(ways[0]) > len(part) || !sameLinks(ways[0], part[:len(ways[0])]) {
			return false
		}
		at, done = s, done+len(ways[0])
	}
	return done == len(p.Links)
}

// fewestSegments tries every choice of segment ends; -1 if none pins the path.
func fewestSegments(g *topo.Graph, path []*topo.Link) int {
	best := -1
	inner := len(path) - 1
	for choice := range 1 << inner {
		ends := []int{}
		for i := range inner {
			if choice>>i&1 == 1 {
				ends = append(ends, i+1)
			}
		}
		ends = append(ends, len(path))
		if (best < 0 || len(ends) < best) && pins(g, path, ends) {
			best = len(ends)
		}
	}
	return best
}

func pins(g *topo.Graph, path []*topo.Link, ends []int) bool {
	at := 0
	for _, end := range ends {
		part := path[at:end]
		if len(part) == 1 && hasAdjacencySID(part[0]) {
			at = end
			continue
		}
		only := shortestOf(g, part[0].From, part[len(part)-1].To)
		if len(only) != 1 || !sameLinks(only[0], part) || g.Node(part[len(part)-1].To).SIDLabel == 0 {
			return false
		}
		at = end
	}
	return true
}

// bestPath is the least weight over all simple paths that meet the request.
func bestPath(g *topo.Graph, r Request) (weight, bool) {
	used := map[string]bool{}
	for _, p := range shortestOf(g, r.From.ID, r.To.ID) {
		for _, l := range p {
			used[l.ID] = true
		}
	}
	var best weight
	found := false
	for _, p := range simplePaths(g, r.From.ID, r.To.ID) {
		if !meets(p, r) || fewestSegments(g, p) < 0 {
			continue
		}
		w := weightOf(p, r, used)
		if !found || w.less(best) {
			best, found = w, true
		}
	}
	return best, found
}

func meets(path []*topo.Link, r Request) bool {
	for _, l := range path {
		for _, n := range r.ExcludeNodes {
			if l.From == n.ID || l.To == n.ID {
				return false
			}
		}
		for _, x := range r.ExcludeLinks {
			if l.ID == x.ID {
				return false
			}
		}
		if l.Bandwidth < r.MinBandwidth {
			return false
		}
	}
	return true
}

func weightOf(path []*topo.Link, r Request, used map[string]bool) weight {
	w := weight{cost: costOf(path), hops: uint64(len(path))}
	for _, l := range path {
		if r.AvoidShortest && used[l.ID] {
			w.overlap++
		}
	}
	return w
}

package compute

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/internal/topo"
)

// MaxECMP bounds how many equal-cost paths are listed, but for those without which a link would be missing.
const MaxECMP = 64

// ECMP lists the equal-cost shortest paths the IGP uses; where there are too many, at least so many that every link of
// one is on those listed. They carry no segment lists: nothing pins traffic to one of them.
func ECMP(g *topo.Graph, from, to *topo.Node) ([]*Path, error) {
	if from.ID == to.ID {
		return nil, sameEnds(from)
	}
	return ecmp(g, SPF(g, from.ID), from, to)
}

// ecmp lists the paths of a tree.
func ecmp(g *topo.Graph, tree *Tree, from, to *topo.Node) ([]*Path, error) {
	lists, all := tree.Paths(to.ID, MaxECMP)
	if len(lists) == 0 {
		return nil, unreachable(from, to)
	}
	reason := fmt.Sprintf("one of %d shortest paths of the IGP", len(lists))
	switch {
	case !all:
		lists = tree.cover(to.ID, lists)
		reason = fmt.Sprintf("one of more than %d shortest paths of the IGP", MaxECMP)
	case len(lists) == 1:
		reason = "the IGP's only shortest path"
	}
	out := make([]*Path, 0, len(lists))
	for _, links := range lists {
		p := newPath(g, from, links)
		p.Reason = reason
		out = append(out, p)
	}
	return out, nil
}

// cover adds paths until every link of a shortest path is on one.
func (t *Tree) cover(to netip.Addr, paths [][]*topo.Link) [][]*topo.Link {
	on := map[string]bool{}
	for _, l := range slices.Concat(paths...) {
		on[l.ID] = true
	}
	onward := map[netip.Addr][]*topo.Link{to: nil} // a shortest path from each router
	for todo := []netip.Addr{to}; len(todo) > 0; todo = todo[1:] {
		for _, l := range t.Via[todo[0]] {
			rest := append([]*topo.Link{l}, onward[l.To]...)
			if _, seen := onward[l.From]; !seen {
				onward[l.From] = rest
				todo = append(todo, l.From)
			}
			if on[l.ID] {
				continue
			}
			var back []*topo.Link
			for at := l.From; at != t.Root; at = back[len(back)-1].From {
				back = append(back, t.Via[at][0])
			}
			path := append(reversed(back), rest...)
			for _, l := range path {
				on[l.ID] = true
			}
			paths = append(paths, path)
		}
	}
	return paths
}

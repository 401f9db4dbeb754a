package compute

import (
	"fmt"

	"github.com/millrace/millrace/internal/topo"
)

// MaxECMP bounds how many equal-cost paths are listed.
const MaxECMP = 64

// ECMP lists the equal-cost shortest paths the IGP uses. They carry no segment
// lists: nothing pins traffic to one of them.
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

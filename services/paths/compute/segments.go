package compute

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/segments"
)

// pin gives the path the shortest list of segments: node SIDs (as loopbacks), to
// which the IGP's shortest path must be unique and be exactly the links in between
// (RFC 8402 section 3.1: a node SID means shortest-path forwarding, ECMP included),
// and adjacency SIDs for links that no node SID pins (section 3.4).
//
// Greedy is optimal, because every part of a unique shortest path is itself a
// unique shortest path: reaching further never rules out a later segment.
//
// They become labels on the router: services/routeragent/frr, resolve.go, turns
// them into SIDs of its link-state database, and policies.go writes them into FRR
// as a segment list.
func (p *Path) pin(g *topo.Graph) error {
	p.Segments, p.Adjacencies = nil, nil
	for at := 0; at < len(p.Links); {
		n, err := furthest(g, p.Links[at:])
		switch {
		case err == nil:
			at += n
			p.addSegment(g, nil, p.Links[at-1].To)
		case hasAdjacencySID(p.Links[at]):
			p.addSegment(g, p.Links[at], netip.Addr{})
			at++
		default:
			p.Segments, p.Adjacencies = nil, nil
			return err
		}
	}
	return nil
}

// SIDs are what routers and links of a topology offer to those of a graph that is made of it, and may have more.
func SIDs(t *topo.Graph, g *graph.Graph) segments.SIDs {
	s := segments.SIDs{Node: make([]bool, g.Nodes()), Adjacency: make([]bool, g.Links()), Absent: make([]bool, g.Links())}
	for _, n := range t.Nodes() {
		if at, ok := g.NodeIndex(n.ID.String()); ok {
			s.Node[at] = hasSID(n)
		}
	}
	for l := range int32(g.Links()) {
		link := t.Link(g.Link(l).ID)
		s.Absent[l], s.Adjacency[l] = link == nil, link != nil && hasAdjacencySID(link)
	}
	return s
}

// hasAdjacencySID reports whether a segment can go over the link. The first router finds its label by the far end's
// address.
func hasAdjacencySID(l *topo.Link) bool { return l.AdjacencySID != 0 && l.RemoteAddress.IsValid() }

// furthest tells how many of links one segment can cover.
func furthest(g *topo.Graph, links []*topo.Link) (int, error) {
	tree := SPF(g, links[0].From)
	best := 0
	for n := 1; n <= len(links); n++ {
		to := links[n-1].To
		only, ok := tree.Unique(to)
		if !ok || !sameLinks(only, links[:n]) {
			break
		}
		if hasSID(g.Node(to)) {
			best = n
		}
	}
	if best > 0 {
		return best, nil
	}
	return 0, noSegment(g, tree, links)
}

// PassesLabels reports whether a router passes packets with labels on. One that runs segment routing has a SID, or its
// links have. Another one has no entry for their labels (RFC 8402, section 3.1), whatever the IGP leads over it.
func PassesLabels(g *topo.Graph, n *topo.Node) bool {
	return n.SIDLabel != 0 || slices.ContainsFunc(g.Out(n.ID), func(l *topo.Link) bool { return l.AdjacencySID != 0 })
}

// passed is why the path cannot be an LSP though there are segments for it: packets end at a router between its ends.
func (p *Path) passed(g *topo.Graph) error {
	for _, n := range p.Nodes[1 : len(p.Nodes)-1] {
		if !PassesLabels(g, n) {
			return fmt.Errorf("%w that an LSP can follow: %s exists, and packets with labels end at %s, which runs no segment routing: neither it nor a link of it has a SID; configure it there",
				ErrNoPath, describe(p), n.Label())
		}
	}
	return nil
}

// hasSID reports whether a segment can end at the router.
func hasSID(n *topo.Node) bool { return n.Loopback.IsValid() && n.SIDLabel != 0 }

func sameLinks(a, b []*topo.Link) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].ID != b[i].ID {
			return false
		}
	}
	return true
}

func noSegment(g *topo.Graph, tree *Tree, links []*topo.Link) error {
	l := links[0]
	from, to := g.Node(l.From), g.Node(l.To)
	if !pinned(tree, l) {
		return fmt.Errorf("%w: the IGP does not send traffic from %s to %s over link %s alone (%s); raise the metric of the others or lower this one's",
			ErrNoPath, from.Label(), to.Label(), l.ID, detour(g, tree, l))
	}
	return fmt.Errorf("%w: no segment can end at %s or where the path goes on from there, because no prefix SID is known; configure a prefix SID on its loopback",
		ErrNoPath, to.Label())
}

// pinned reports whether the IGP sends traffic for the link's far end over this link only: a shortest path that begins
// with the link has arrived.
func pinned(tree *Tree, l *topo.Link) bool {
	only, ok := tree.Unique(l.To)
	return ok && only[0].ID == l.ID
}

// detour says what the IGP does instead of using l alone.
func detour(g *topo.Graph, tree *Tree, l *topo.Link) string {
	if cost := tree.Cost[l.To]; cost < uint64(l.Metric) {
		paths, _ := tree.Paths(l.To, 1)
		return fmt.Sprintf("cost %d, while %s costs %d", l.Metric, describe(newPath(g, g.Node(l.From), paths[0])), cost)
	}
	paths, all := tree.Paths(l.To, MaxECMP)
	more := ""
	if !all {
		more = "more than "
	}
	return fmt.Sprintf("it shares with %s%d equal-cost paths", more, len(paths)-1)
}

package graph

import (
	"math"

	"github.com/millrace/millrace/internal/topo"
)

// FromTopology takes over a topology: nodes in the order of their router ids, links by their ids. A link from a router
// to itself is left out.
func FromTopology(t *topo.Graph) (*Graph, error) {
	nodes := make([]Node, 0, len(t.Nodes()))
	index := make(map[*topo.Node]int32, len(t.Nodes()))
	for i, n := range t.Nodes() {
		nodes = append(nodes, Node{ID: n.ID.String(), Name: n.Label()})
		index[n] = int32(i)
	}
	var links []Link
	for from, n := range t.Nodes() {
		for _, l := range t.Out(n.ID) {
			if to := index[t.Node(l.To)]; to != int32(from) {
				links = append(links, linkOf(l, int32(from), to))
			}
		}
	}
	return New(nodes, links)
}

func linkOf(l *topo.Link, from, to int32) Link {
	out := Link{
		ID: l.ID, From: from, To: to, IGP: l.Metric, TE: l.TEMetric, Capacity: int64(min(l.Bandwidth, math.MaxInt64)),
		Delay: l.Delay, SRLGs: l.RiskGroups, Affinity: l.AdminGroups,
	}
	if l.Delay == 0 {
		out.Delay = DelayUnknown
	}
	return out
}

package graph

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/topo"
)

var addr = netip.MustParseAddr

// triangle is three routers, the second without name, with one link from the first to itself.
func triangle() topo.Snapshot {
	s := topo.Snapshot{Area: "0.0.0.0", Nodes: []topo.Node{
		{ID: addr("10.0.0.9"), Name: "wr"}, {ID: addr("10.0.0.10")}, {ID: addr("10.0.0.2"), Name: "er"},
	}}
	for _, l := range []topo.Link{
		{From: addr("10.0.0.9"), To: addr("10.0.0.10"), Metric: 10, TEMetric: 20, Bandwidth: 1e9},
		{From: addr("10.0.0.9"), To: addr("10.0.0.2"), Metric: 30},
		{From: addr("10.0.0.2"), To: addr("10.0.0.10"), Metric: 1, Bandwidth: 1 << 63},
		{From: addr("10.0.0.9"), To: addr("10.0.0.9"), Metric: 1},
	} {
		back := l
		back.From, back.To = l.To, l.From
		l.ID, back.ID = l.From.String()+">"+l.To.String(), back.From.String()+"<"+back.To.String()
		s.Links = append(s.Links, l, back)
	}
	return s
}

func TestATopologyKeepsItsOrder(t *testing.T) {
	g, err := FromTopology(topo.NewGraph(triangle()))
	if err != nil {
		t.Fatal(err)
	}
	var nodes []Node
	for n := range int32(g.Nodes()) {
		nodes = append(nodes, g.Node(n))
	}
	want := []Node{{ID: "10.0.0.2", Name: "er"}, {ID: "10.0.0.9", Name: "wr"}, {ID: "10.0.0.10", Name: "10.0.0.10"}}
	if diff := cmp.Diff(nodes, want); diff != "" {
		t.Errorf("nodes (-got +want):\n%s", diff)
	}
	if g.Links() != 6 {
		t.Errorf("%d links, want 6: a link of a router to itself leads nowhere", g.Links())
	}
	l, _ := g.LinkIndex("10.0.0.9>10.0.0.10")
	got := g.Link(l)
	if diff := cmp.Diff(got, Link{ID: got.ID, From: 1, To: 2, IGP: 10, TE: 20, Delay: DelayUnknown, Capacity: 1e9}); diff != "" {
		t.Errorf("link (-got +want):\n%s", diff)
	}
	huge, _ := g.LinkIndex("10.0.0.2>10.0.0.10")
	if g.Capacity(huge) != 1<<63-1 {
		t.Errorf("capacity %d of a link of 2^63 bit/s, want the greatest that fits", g.Capacity(huge))
	}
}

func TestDelayAndRiskGroupsComeWithTheTopology(t *testing.T) {
	s := triangle()
	for i := range s.Links {
		s.Links[i].Delay, s.Links[i].RiskGroups = s.Links[i].Metric*100, []uint32{9, 7}
	}
	s.Links[0].Delay = 0
	g, err := FromTopology(topo.NewGraph(s))
	if err != nil {
		t.Fatal(err)
	}
	unknown, _ := g.LinkIndex(s.Links[0].ID)
	l, _ := g.LinkIndex("10.0.0.9>10.0.0.2")
	if got := g.Link(l); got.Delay != 3000 || g.Link(unknown).Delay != DelayUnknown || len(g.Members(7)) != 6 {
		t.Errorf("link %+v, group 7 %v, delay %d of a link that has none: want 3000 µs, all six links, and none", got, g.Members(7), g.Link(unknown).Delay)
	}
}

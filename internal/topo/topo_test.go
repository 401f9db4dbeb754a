package topo

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	addr   = netip.MustParseAddr
	prefix = netip.MustParsePrefix
	equal  = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	equalP = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
)

func example() Snapshot {
	return Snapshot{
		Area: "0.0.0.0", Source: "a", Time: time.Unix(1700000000, 0).UTC(),
		Nodes: []Node{
			{ID: addr("1.0.0.1"), Name: "a", Loopback: addr("10.255.0.1"), SIDLabel: 16001, Prefixes: []netip.Prefix{prefix("10.1.0.0/24")},
				Interfaces: []Interface{{Name: "ge-b", IfIndex: 3, Addresses: []netip.Prefix{prefix("10.0.0.1/30")}, Speed: 1e9, Up: true}}},
			{ID: addr("1.0.0.2"), Loopback: addr("10.255.0.2"), Prefixes: []netip.Prefix{prefix("10.1.0.0/16")}},
		},
		Links: []Link{
			{ID: "1.0.0.1|10.0.0.1", From: addr("1.0.0.1"), To: addr("1.0.0.2"), LocalAddress: addr("10.0.0.1"), RemoteAddress: addr("10.0.0.2"), Interface: "ge-b", Metric: 10, TEMetric: 20, Bandwidth: 1e9, AdminGroups: 1<<63 + 5},
			{ID: "1.0.0.2|10.0.0.2", From: addr("1.0.0.2"), To: addr("1.0.0.1"), LocalAddress: addr("10.0.0.2"), Metric: 10},
		},
	}
}

func TestSnapshotsSurviveTheBus(t *testing.T) {
	got, err := FromProto(example().ToProto())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, example(), equal, equalP); diff != "" {
		t.Errorf("snapshot (-got +want):\n%s", diff)
	}
}

func TestBrokenSnapshotsNameThePart(t *testing.T) {
	m := example().ToProto()
	m.Nodes[0].Interfaces[0].Addresses[0] = "10.0.0.1"
	_, err := FromProto(m)
	if err == nil || !strings.Contains(err.Error(), "area 0.0.0.0: node 1.0.0.1: interface ge-b") {
		t.Errorf("error %v: want one that names area, node and interface", err)
	}
}

func TestGraphKeepsOnlyAnsweredLinks(t *testing.T) {
	s := example()
	s.Links = s.Links[:1]
	if links := NewGraph(s).Links(); len(links) != 0 {
		t.Errorf("links %v, want none: nobody links back", links)
	}
	s = example()
	s.Nodes = s.Nodes[:1]
	if links := NewGraph(s).Links(); len(links) != 0 {
		t.Errorf("links %v, want none: the far router has no LSA", links)
	}
}

func TestJoiningAreasLeavesTheSnapshotsAlone(t *testing.T) {
	a, b := example(), example()
	b.Area = "0.0.0.1"
	b.Nodes[0].Prefixes = []netip.Prefix{prefix("10.9.0.0/24")}
	// Room to append in place would show a write into the snapshot.
	a.Nodes[0].Prefixes = append(make([]netip.Prefix, 0, 8), a.Nodes[0].Prefixes...)
	g := NewGraph(a, b)
	if len(g.Nodes()) != 2 || len(g.Node(addr("1.0.0.1")).Prefixes) != 2 {
		t.Errorf("nodes %v: want the border router once, with the prefixes of both areas", g.Nodes())
	}
	if got := a.Nodes[0].Prefixes[:2][1]; got.IsValid() {
		t.Errorf("joining wrote %v into the first area's snapshot", got)
	}
}

func TestRoutersHaveThreeNames(t *testing.T) {
	g := NewGraph(example())
	for _, s := range []string{"a", "1.0.0.1", "10.255.0.1"} {
		if n, err := g.Resolve(s); err != nil || n.Name != "a" {
			t.Errorf("Resolve(%q) = %v, %v", s, n, err)
		}
	}
	// The second router has no name: the empty one must not find it.
	if n, err := g.Resolve(""); err == nil {
		t.Errorf(`Resolve("") = %v, want an error`, n)
	}
}

func TestLocatePrefersTheLongestPrefix(t *testing.T) {
	g := NewGraph(example())
	for name, tc := range map[string]struct {
		prefix string
		want   []string
	}{
		"inside both, the longer wins":     {"10.1.0.128/25", []string{"a"}},
		"inside the shorter only":          {"10.1.7.0/24", []string{"1.0.0.2"}},
		"wider than all: who has any part": {"10.0.0.0/8", []string{"a", "1.0.0.2"}},
		"elsewhere":                        {"192.0.2.0/24", nil},
		"the other address family":         {"2001:db8::/48", nil},
	} {
		var got []string
		for _, n := range g.PrefixOwners(prefix(tc.prefix)) {
			got = append(got, n.Label())
		}
		if diff := cmp.Diff(got, tc.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

package topo

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// router is one without loopback that originates some prefixes.
func router(id string, originates ...string) Node {
	n := Node{ID: addr(id), Name: "r" + id[len(id)-1:]}
	for _, p := range originates {
		n.Prefixes = append(n.Prefixes, prefix(p))
	}
	return n
}

func both(id, from, to string) []Link {
	return []Link{{ID: id + ">", From: addr(from), To: addr(to)}, {ID: id + "<", From: addr(to), To: addr(from)}}
}

func ids(links []*Link) (out []string) {
	for _, l := range links {
		out = append(out, l.ID)
	}
	return out
}

// TestALinkThatNobodyAnswers is passed over, and the ones behind it kept.
func TestALinkThatNobodyAnswers(t *testing.T) {
	s := Snapshot{Nodes: []Node{router("1.0.0.1"), router("1.0.0.2"), router("1.0.0.3")}}
	s.Links = append([]Link{{ID: "one way", From: addr("1.0.0.1"), To: addr("1.0.0.3")}}, both("a", "1.0.0.1", "1.0.0.2")...)
	g := NewGraph(s)
	if d := cmp.Diff(ids(g.Links()), []string{"a>", "a<"}); d != "" {
		t.Error(d)
	}
	if got := g.Link("a>").Metric; got != 1 {
		t.Errorf("a metric of 0 is %d, want 1", got)
	}
}

// TestTheFirstAreaWins where two differ about a link or a router's interfaces.
func TestTheFirstAreaWins(t *testing.T) {
	area := func(metric uint32, name string) Snapshot {
		s := Snapshot{Nodes: []Node{router("1.0.0.1"), router("1.0.0.2")}, Links: both("a", "1.0.0.1", "1.0.0.2")}
		s.Links[0].Metric = metric
		if name != "" {
			s.Nodes[0].Interfaces = []Interface{{Name: name}}
		}
		return s
	}
	g := NewGraph(area(10, ""), area(20, "ge-2"), area(30, "ge-3"))
	if got := g.Link("a>").Metric; got != 10 || len(g.Out(addr("1.0.0.1"))) != 1 {
		t.Errorf("%d links out, of metric %d; want one, of 10", len(g.Out(addr("1.0.0.1"))), got)
	}
	if got := g.Node(addr("1.0.0.1")).Interfaces; len(got) != 1 || got[0].Name != "ge-2" {
		t.Errorf("interfaces %v, want ge-2", got)
	}
}

// TestNoNameFindsARouterWithoutLoopback: what is no address is not the address that a router does not have.
func TestNoNameFindsARouterWithoutLoopback(t *testing.T) {
	g := NewGraph(Snapshot{Nodes: []Node{router("1.0.0.1")}})
	if n, err := g.Resolve("other"); err == nil {
		t.Errorf("%v", n)
	}
}

func TestWhatRoutersThereAre(t *testing.T) {
	for n, want := range map[int]string{0: "it has none yet", 2: "it has r1, r2", 12: "r9, r0, r1, r2", 13: "and 1 more"} {
		var s Snapshot
		for i := range n {
			s.Nodes = append(s.Nodes, router(fmt.Sprintf("1.0.0.%d", i+1)))
		}
		_, err := NewGraph(s).Resolve("x")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "more") != (n > 12) {
			t.Errorf("%d routers: %v, want %s", n, err, want)
		}
	}
}

func TestPrefixOwnersAtTheBounds(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []Node
		of    string
		want  string
	}{
		"the prefix itself":            {[]Node{router("1.0.0.1", "10.1.0.0/24"), router("1.0.0.2", "10.1.0.0/25")}, "10.1.0.0/24", "r1"},
		"two of the same length":       {[]Node{router("1.0.0.1", "10.1.0.0/24"), router("1.0.0.2", "10.1.0.0/24"), router("1.0.0.3", "10.0.0.0/8")}, "10.1.0.0/25", "r1 r2"},
		"the later one is longer":      {[]Node{router("1.0.0.1", "10.0.0.0/8"), router("1.0.0.2", "10.1.0.0/24")}, "10.1.0.0/25", "r2"},
		"the default route":            {[]Node{router("1.0.0.1", "0.0.0.0/0"), router("1.0.0.2", "10.1.0.0/24")}, "10.1.0.0/16", "r1"},
		"behind a prefix of elsewhere": {[]Node{router("1.0.0.1", "192.0.2.0/24", "10.1.0.0/24")}, "10.1.0.0/24", "r1"},
		"who has none has none":        {[]Node{router("1.0.0.1"), router("1.0.0.2", "10.1.0.0/25")}, "10.1.0.0/24", "r2"},
		"its own longest counts":       {[]Node{router("1.0.0.1", "10.1.0.0/24", "10.0.0.0/8"), router("1.0.0.2", "10.1.0.0/16")}, "10.1.0.0/24", "r1"},
	} {
		var got []string
		for _, n := range NewGraph(Snapshot{Nodes: c.nodes}).PrefixOwners(netip.MustParsePrefix(c.of)) {
			got = append(got, n.Label())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

package compute

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/topo"
)

// A router whose links cost the most that OSPF has is to carry nothing on (RFC 6987, section 2): it is about to be
// taken away. Paths avoid it before all else, but where there is no other, as the IGP does.
func TestARouterThatIsTakenOutOfTransitIsAvoided(t *testing.T) {
	for name, tc := range map[string]struct {
		net   []string
		ask   Request
		nodes string
		says  bool // that there were others
	}{
		"rather the shortest path than over it": {[]string{"wr er 10 100", "wr>x 10 100", "x>wr 65535 100", "x>er 65535 100", "er>x 10 100"}, Request{AvoidShortest: true}, "wr–er", true},
		"rather a dear detour than over it":     {[]string{"wr er 10 100", "wr>x 10 100", "x>wr 65535 100", "x>er 65535 100", "er>x 10 100", "wr y 60000 100", "y er 60000 100"}, Request{AvoidShortest: true}, "wr–y–er", false},
		"over it where there is no other":       {[]string{"wr>x 10 100", "x>wr 65535 100", "x>er 65535 100", "er>x 10 100"}, Request{AvoidShortest: true}, "wr–x–er", true},
		"rather over one than over two": {
			[]string{"wr>x 10 100", "x>wr 65535 100", "x>er 65535 100", "er>x 10 100", "wr>p 1 100", "p>wr 65535 100", "p q 65535 100", "q>er 65535 100", "er>q 1 100"},
			Request{AvoidShortest: true}, "wr–x–er", true,
		},
		"over it where others are too narrow":     {[]string{"wr er 10 50", "wr>x 10 100", "x>wr 65535 100", "x>er 65535 100", "er>x 10 100"}, Request{MinBandwidth: 100e6}, "wr–x–er", false},
		"from it, all links are the same":         {[]string{"wr>er 65535 100", "er>wr 10 100", "wr>x 65535 100", "x>wr 10 100", "x er 10 100"}, Request{AvoidShortest: true}, "wr–x–er", false},
		"one that is merely dear carries traffic": {[]string{"wr er 10 100", "wr>x 10 100", "x>wr 65534 100", "x>er 65534 100", "er>x 10 100"}, Request{AvoidShortest: true}, "wr–x–er", false},
	} {
		g := network(t, tc.net...)
		allAdjacencies(g)
		r := tc.ask
		r.From, r.To = router(t, g, "wr"), router(t, g, "er")
		index, err := NewIndex(g)
		if err != nil {
			t.Fatal(err)
		}
		for by, find := range map[string]func(Request) (*Path, error){
			"the function": func(r Request) (*Path, error) { return CSPF(g, r) }, "the index": index.CSPF,
		} {
			p, err := find(r)
			if err != nil || describe(p) != tc.nodes {
				t.Fatalf("%s, by %s: %v, %v; want %s", name, by, p, err, tc.nodes)
			}
			if says := strings.Contains(p.Reason, "; links of routers that are taken out of transit come after all others"); says != tc.says {
				t.Errorf("%s, by %s: %s", name, by, p.Reason)
			}
		}
	}
}

// The IGP itself may still send over a router that is taken out of transit.
func TestThePathIsNotTheShortestBecauseOfTransit(t *testing.T) {
	g := network(t, "a>x 10 100", "x>a 65535 100", "x>d 65535 100", "d>x 10 100", "a y 40000 100", "y d 40000 100")
	allAdjacencies(g)
	p, err := CSPF(g, Request{From: router(t, g, "a"), To: router(t, g, "d")})
	want := "the shortest path costs 65545 and is over a router that is taken out of transit"
	if err != nil || describe(p) != "a–y–d" || !strings.Contains(p.Reason, want) {
		t.Errorf("%v, %v; want %s", p, err, want)
	}
}

// A router that is taken out of transit gives a set what the others lack, and only then. From such a router all is as
// it was.
func TestASetOverARouterThatIsTakenOutOfTransit(t *testing.T) {
	lines := []string{"a d 10 30", "a>x 10 100", "x>a 65535 100", "x>d 65535 100", "d>x 10 100", "a y 12 40", "y d 12 40"}
	for _, c := range []struct {
		from  string
		mbps  uint64
		avoid bool
		paths []string
		why   string
	}{
		{"a", 20, false, []string{"a–d"}, ""},
		{"a", 20, true, []string{"a–y–d"}, ""},
		{"a", 60, true, []string{"a–d", "a–y–d"}, "without the links of the IGP's shortest paths, and those of routers that are taken out of transit, there is less"},
		{"a", 150, false, []string{"a–d", "a–x–d", "a–y–d"}, ""},
		{"x", 20, true, []string{"x–a–d"}, ""}, // its own links are all it has
	} {
		x := index(t, lines...)
		paths, _, why, err := x.Set(SetRequest{From: router(t, x.topo, c.from), To: router(t, x.topo, "d"), Bandwidth: c.mbps * 1e6, MaxPaths: 3, AvoidShortest: c.avoid})
		var got []string
		for _, p := range paths {
			got = append(got, describe(p.Path))
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, c.paths) || !strings.Contains(why, c.why) {
			t.Errorf("%d Mbit/s from %s: %q, %s, %v; want %q, %s", c.mbps, c.from, got, why, err, c.paths, c.why)
		}
	}
}

// allAdjacencies gives every link an adjacency SID.
func allAdjacencies(g *topo.Graph) {
	for i, l := range g.Links() { // the graph is the test's own
		l.AdjacencySID, l.RemoteAddress = 15000+uint32(i), netip.AddrFrom4([4]byte{10, 254, 0, byte(i)})
	}
}

package compute

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func index(t *testing.T, lines ...string) *Index {
	t.Helper()
	x, err := NewIndex(network(t, lines...))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Of two paths of 50 and 30 Mbit/s each gets its part; the shortest one is kept off where the other has enough.
func TestSet(t *testing.T) {
	lines := []string{"a b 10 50", "b d 10 50", "a c 10 30", "c d 11 30", "b c 40 10"}
	for _, c := range []struct {
		what      string
		mbps      uint64
		most      int
		avoid     bool
		without   string
		paths     []string
		bandwidth uint64
		reason    string
	}{
		{"both", 70, 2, false, "", []string{"a–b–d 5 50", "a–c–d 3 30"}, 80, "80Mbit/s of 70Mbit/s requested"},
		{"one is enough", 40, 2, false, "", []string{"a–b–d 1 50"}, 50, "50Mbit/s of 40Mbit/s requested"},
		{"off the shortest", 20, 2, true, "", []string{"a–c–d 1 30"}, 30, "no link of the IGP's shortest paths"},
		{"off the shortest there is less", 70, 2, true, "", []string{"a–b–d 5 50", "a–c–d 3 30"}, 80, "without the links of the IGP's shortest paths there is less"},
		{"without a router", 20, 2, false, "b", []string{"a–c–d 1 30"}, 30, "30Mbit/s of 20Mbit/s requested"},
	} {
		t.Run(c.what, func(t *testing.T) {
			x := index(t, lines...)
			r := SetRequest{From: router(t, x.topo, "a"), To: router(t, x.topo, "d"), Bandwidth: c.mbps * 1e6, MaxPaths: c.most, AvoidShortest: c.avoid}
			if c.without != "" {
				r.ExcludeNodes = append(r.ExcludeNodes, router(t, x.topo, c.without))
			}
			paths, bandwidth, reason, err := x.Set(r)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range paths {
				got = append(got, fmt.Sprint(describe(p.Path), " ", p.Weight, " ", p.Bandwidth/1e6))
			}
			slices.Sort(got)
			if !slices.Equal(got, c.paths) || bandwidth != c.bandwidth*1e6 || !strings.Contains(reason, c.reason) {
				t.Errorf("%q, %d Mbit/s: %s; want %q, %d: %s", got, bandwidth/1e6, reason, c.paths, c.bandwidth, c.reason)
			}
		})
	}
}

func TestASetThatIsNotThere(t *testing.T) {
	x := index(t, "a b 10 50", "c d 10 50")
	a, b := router(t, x.topo, "a"), router(t, x.topo, "b")
	for what, r := range map[string]SetRequest{
		"too much":      {From: a, To: b, Bandwidth: 60e6, MaxPaths: 2},
		"no way":        {From: a, To: router(t, x.topo, "c"), Bandwidth: 1e6, MaxPaths: 2},
		"link excluded": {From: a, To: b, Bandwidth: 1e6, MaxPaths: 2, ExcludeLinks: x.topo.Links()[:1]},
	} {
		if _, _, _, err := x.Set(r); !errors.Is(err, ErrNoPath) {
			t.Errorf("%s: %v, want no path", what, err)
		}
	}
	if _, _, _, err := x.Set(SetRequest{From: a, To: a, Bandwidth: 1, MaxPaths: 1}); err == nil || errors.Is(err, ErrNoPath) {
		t.Errorf("from a router to itself: %v, want another error than of the network", err)
	}
}

// A path that needs two segments is none where a router takes one.
func TestASetOfFewSegments(t *testing.T) {
	x := index(t, "a b 10 50", "b d 10 50", "a c 30 50", "c d 30 50")
	r := SetRequest{From: router(t, x.topo, "a"), To: router(t, x.topo, "d"), Bandwidth: 90e6, MaxPaths: 2}
	paths, _, _, err := x.Set(r)
	if err != nil || len(paths) != 2 {
		t.Fatalf("%d paths, %v; want 2", len(paths), err)
	}
	r.MaxSegments = 1
	if _, _, _, err := x.Set(r); !errors.Is(err, ErrNoPath) {
		t.Errorf("with one segment: %v, want no path", err)
	}
}

// Of parallel links a path by hand goes over the one of the least cost, and of two that cost the same over the first.
func TestAlong(t *testing.T) {
	g := network(t, "a b 20 50", "a b 10 50", "a b 10 50", "a b 30 50", "b d 10 50", "a c 1 50")
	for _, c := range []struct{ routers, links, why string }{
		{"a b d", "a>b#2 b>d#8", ""},
		{"a c", "a>c#10", ""},
		{"a", "", ""},
		{"c b", "", "there is no link from c to b"},
		{"a b x", "", "x"},
	} {
		links, err := Along(g, strings.Fields(c.routers))
		if c.why != "" {
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v, want %q", c.routers, err, c.why)
			}
			continue
		}
		if got := strings.Join(links, " "); err != nil || got != c.links {
			t.Errorf("%s: %q, %v; want %q", c.routers, got, err, c.links)
		}
	}
}

// A segment over a link needs its SID and the far end's address, by which the first router finds it.
func TestAdjacencySIDs(t *testing.T) {
	at := netip.MustParseAddr("10.254.0.1")
	for _, c := range []struct {
		sid  uint32
		far  netip.Addr
		want bool
	}{{15001, at, true}, {0, at, false}, {15001, netip.Addr{}, false}, {0, netip.Addr{}, false}} {
		l := *network(t, "a b 10 50").Links()[0]
		l.AdjacencySID, l.RemoteAddress = c.sid, c.far
		if got := hasAdjacencySID(&l); got != c.want {
			t.Errorf("SID %d, far end %s: %t", c.sid, c.far, got)
		}
	}
}

package compute

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/topo"
)

// testbed is paper 002's: wr–er direct, wr–cr–er the detour.
func testbed(t testing.TB) *topo.Graph {
	return network(t, "wr er 10 100", "wr cr 10 100", "cr er 10 100")
}

func TestCSPF(t *testing.T) {
	for name, tc := range map[string]struct {
		net      []string
		ask      func(*topo.Graph, *Request)
		nodes    string
		segments []string
		reason   string
	}{
		"without constraints it is the shortest path, pinned by one segment": {
			net: []string{"wr er 10 100", "wr cr 10 100", "cr er 10 100"}, nodes: "wr–er", segments: []string{"er"},
			reason: "wr–er, IGP cost 10; a shortest path",
		},
		"avoiding the shortest takes the detour": {
			net: []string{"wr er 10 100", "wr cr 10 100", "cr er 10 100"},
			ask: func(_ *topo.Graph, r *Request) { r.AvoidShortest = true }, nodes: "wr–cr–er", segments: []string{"cr", "er"},
			reason: "wr–cr–er, IGP cost 20; shares no link with the IGP's shortest (wr–er at cost 10), which stays with the other traffic",
		},
		"avoiding the shortest in a chain says that there is no other": {
			net: []string{"wr cr 10 100", "cr er 10 100"},
			ask: func(_ *topo.Graph, r *Request) { r.AvoidShortest = true }, nodes: "wr–cr–er", segments: []string{"er"},
			reason: "wr–cr–er, IGP cost 20; there is no alternative to the links of the IGP's shortest (wr–cr–er at cost 20)",
		},
		"avoiding the shortest shares as few links as it can": {
			net: []string{"wr x 10 100", "x er 10 100", "x y 10 100", "y er 10 100"},
			ask: func(_ *topo.Graph, r *Request) { r.AvoidShortest = true }, nodes: "wr–x–y–er", segments: []string{"y", "er"},
			reason: "wr–x–y–er, IGP cost 30; shares 1 of 3 links with the IGP's shortest (wr–x–er at cost 20); no path that meets the constraints shares fewer",
		},
		"a narrow shortest path is left when bandwidth is requested": {
			net: []string{"wr er 10 100", "wr cr 10 1000", "cr er 10 1000"},
			ask: func(_ *topo.Graph, r *Request) { r.MinBandwidth = 500e6 }, nodes: "wr–cr–er", segments: []string{"cr", "er"},
			reason: "wr–cr–er, IGP cost 20; the shortest path costs 10 and does not meet the constraints; every link carries at least 500Mbit/s",
		},
		"an excluded router is gone round": {
			net:   []string{"wr x 10 100", "x er 10 100", "wr y 20 100", "y er 20 100"},
			ask:   func(g *topo.Graph, r *Request) { r.ExcludeNodes = []*topo.Node{router(t, g, "x")} },
			nodes: "wr–y–er", segments: []string{"y", "er"},
			reason: "wr–y–er, IGP cost 40; the shortest path costs 20 and does not meet the constraints; excluded by request: 1 routers and links",
		},
		"an excluded link is gone round": {
			net:   []string{"wr er 10 100", "wr cr 10 100", "cr er 10 100"},
			ask:   func(g *topo.Graph, r *Request) { r.ExcludeLinks = g.Out(r.From.ID)[:1] },
			nodes: "wr–cr–er", segments: []string{"cr", "er"},
			reason: "wr–cr–er, IGP cost 20; the shortest path costs 10 and does not meet the constraints; excluded by request: 1 routers and links",
		},
		"of paths that cost the same the one with fewer hops": {
			net: []string{"wr b 10 100", "b c 10 100", "c er 10 100", "wr a 10 100", "a er 20 100"}, nodes: "wr–a–er", segments: []string{"a", "er"},
			reason: "wr–a–er, IGP cost 30; a shortest path",
		},
		"one of two equal-cost ways needs a segment in the middle": {
			net: []string{"wr x 10 100", "x er 10 100", "wr y 10 100", "y er 10 100"}, nodes: "wr–x–er", segments: []string{"x", "er"},
			reason: "wr–x–er, IGP cost 20; a shortest path",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := network(t, tc.net...)
			r := Request{From: router(t, g, "wr"), To: router(t, g, "er")}
			if tc.ask != nil {
				tc.ask(g, &r)
			}
			p, err := CSPF(g, r)
			if err != nil {
				t.Fatal(err)
			}
			var segments []string
			for _, s := range p.Segments {
				segments = append(segments, router(t, g, s.String()).Name)
			}
			got := []any{describe(p), segments, p.Reason}
			if diff := cmp.Diff(got, []any{tc.nodes, tc.segments, tc.reason}); diff != "" {
				t.Errorf("path (-got +want):\n%s", diff)
			}
		})
	}
}

func TestNoPathIsExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		net  []string
		ask  func(*topo.Graph, *Request)
		want string
	}{
		"bandwidth names the link and what it lacks": {
			net:  []string{"wr er 10 100", "wr cr 10 100", "cr er 10 400"},
			ask:  func(_ *topo.Graph, r *Request) { r.MinBandwidth = 1e9 },
			want: "no path of 1Gbit/s from wr to er; on the widest, wr–er, link wr>er#0 (wr to er) is 900Mbit/s short",
		},
		"the widest path is blamed, not the shortest": {
			net:  []string{"wr er 10 100", "wr cr 10 300", "cr er 10 400"},
			ask:  func(_ *topo.Graph, r *Request) { r.MinBandwidth = 1e9 },
			want: "no path of 1Gbit/s from wr to er; on the widest, wr–cr–er, link wr>cr#2 (wr to cr) is 700Mbit/s short",
		},
		"of links that are as narrow the first is blamed": {
			net:  []string{"wr cr 10 100", "cr er 10 100"},
			ask:  func(_ *topo.Graph, r *Request) { r.MinBandwidth = 1e9 },
			want: "no path of 1Gbit/s from wr to er; on the widest, wr–cr–er, link wr>cr#0 (wr to cr) is 900Mbit/s short",
		},
		"an unknown bandwidth is not guessed": {
			net:  []string{"wr er 10 0"},
			ask:  func(_ *topo.Graph, r *Request) { r.MinBandwidth = 1 },
			want: "no path of 1bit/s from wr to er; on the widest, wr–er, link wr>er#0 (wr to er) is of unknown bandwidth",
		},
		"exclusions name what is needed": {
			net:  []string{"wr cr 10 100", "cr er 10 100"},
			ask:  func(g *topo.Graph, r *Request) { r.ExcludeNodes = []*topo.Node{router(t, g, "cr")} },
			want: "no path from wr to er without what is excluded; wr–cr–er would need router cr",
		},
		"a link that is not answered is no adjacency": {
			net:  []string{"wr>er 10 100"},
			want: "no path: no chain of two-way adjacencies leads from wr to er",
		},
		"parallel links of equal cost cannot be told apart by node SIDs": {
			net:  []string{"wr er 10 100", "wr er 10 100"},
			want: "path wr–er exists, but no list of SIDs can pin it: no path: the IGP does not send traffic from wr to er over link wr>er#0 alone (it shares with 1 equal-cost paths); raise the metric of the others or lower this one's",
		},
		"a link dearer than the detour cannot be pinned": {
			net:  []string{"wr er 50 100", "wr cr 10 100", "cr er 10 100"},
			ask:  func(g *topo.Graph, r *Request) { r.ExcludeNodes = []*topo.Node{router(t, g, "cr")} },
			want: "path wr–er exists, but no list of SIDs can pin it: no path: the IGP does not send traffic from wr to er over link wr>er#0 alone (cost 50, while wr–cr–er costs 20); raise the metric of the others or lower this one's",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := network(t, tc.net...)
			r := Request{From: router(t, g, "wr"), To: router(t, g, "er")}
			if tc.ask != nil {
				tc.ask(g, &r)
			}
			p, err := CSPF(g, r)
			if err == nil {
				t.Fatalf("found %s", describe(p))
			}
			if diff := cmp.Diff(err.Error(), tc.want); diff != "" || !errors.Is(err, ErrNoPath) {
				t.Errorf("error (-got +want):\n%s", diff)
			}
		})
	}
}

func TestECMPListsAllShortestPaths(t *testing.T) {
	g := network(t, "wr x 10 100", "x er 10 100", "wr y 10 100", "y er 10 100", "wr er 30 100")
	paths, err := ECMP(g, router(t, g, "wr"), router(t, g, "er"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range paths {
		got = append(got, describe(p))
	}
	if diff := cmp.Diff(got, []string{"wr–x–er", "wr–y–er"}); diff != "" {
		t.Errorf("paths (-got +want):\n%s", diff)
	}
}

func TestReasonsOfECMP(t *testing.T) {
	for name, c := range map[string]struct {
		net    []string
		paths  int
		reason string
	}{
		"one":        {[]string{"wr er 10 100"}, 1, "the IGP's only shortest path"},
		"two":        {[]string{"wr er 10 100", "wr er 10 100"}, 2, "one of 2 shortest paths of the IGP"},
		"two of two": {[]string{"wr er 20 100", "wr x 10 100", "x er 10 100"}, 2, "one of 2 shortest paths of the IGP"},
	} {
		g := network(t, c.net...)
		paths, err := ECMP(g, router(t, g, "wr"), router(t, g, "er"))
		if err != nil || len(paths) != c.paths || paths[0].Reason != c.reason {
			t.Errorf("%s: %d paths (%v), want %d, %s", name, len(paths), err, c.paths, c.reason)
		}
	}
}

// A request between a router and itself is invalid; one between two parts of the network finds no path.
func TestEndsWithoutAPathBetweenThem(t *testing.T) {
	g := network(t, "wr>er 10 100")
	wr, er := router(t, g, "wr"), router(t, g, "er")
	for to, want := range map[*topo.Node]string{
		wr: "both ends are wr; name two different routers",
		er: "no path: no chain of two-way adjacencies leads from wr to er",
	} {
		_, cspf := CSPF(g, Request{From: wr, To: to})
		_, ecmp := ECMP(g, wr, to)
		for _, err := range []error{cspf, ecmp} {
			if err == nil || err.Error() != want || errors.Is(err, ErrNoPath) != (to == er) {
				t.Errorf("error %v, want %s", err, want)
			}
		}
	}
}

func TestCostAndBottleneckOfAPath(t *testing.T) {
	for _, c := range []struct {
		mbps       string
		bottleneck uint64
	}{{"100 200", 100e6}, {"200 100", 100e6}, {"100 0", 0}, {"0 100", 0}} {
		first, second, _ := strings.Cut(c.mbps, " ")
		g := network(t, "wr cr 3 "+first, "cr er 4 "+second)
		paths, err := ECMP(g, router(t, g, "wr"), router(t, g, "er"))
		if err != nil || paths[0].Cost != 7 || paths[0].Bottleneck != c.bottleneck || describe(paths[0]) != "wr–cr–er" {
			t.Errorf("%s: %+v (%v), want cost 7 and a bottleneck of %d", c.mbps, paths, err, c.bottleneck)
		}
	}
}

// A ladder of n rungs has 2^n shortest paths; listing must stop, and has all links nevertheless.
func TestECMPStopsCounting(t *testing.T) {
	var lines []string
	names := "abcdefghijklmnop"
	for i := 0; i+1 < len(names); i++ {
		link := names[i:i+1] + " " + names[i+1:i+2] + " 1 100"
		lines = append(lines, link, link)
	}
	g := network(t, lines...)
	paths, err := ECMP(g, router(t, g, "a"), router(t, g, "p"))
	if err != nil || len(paths) < MaxECMP || len(paths) > 2*MaxECMP || paths[0].Reason != "one of more than 64 shortest paths of the IGP" {
		t.Errorf("%d paths (%v), want %d or a few more that say there are more", len(paths), err, MaxECMP)
	}
	links := map[string]bool{}
	for _, p := range paths {
		for _, l := range p.Links {
			links[l.ID] = true
		}
	}
	if len(links) != 2*(len(names)-1) {
		t.Errorf("%d links on the paths, want %d", len(links), 2*(len(names)-1))
	}
}

// Of however few paths: with those that are added every link is on one, and all are shortest paths, each once.
func TestPathsThatCoverAllLinks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	added := 0
	for range 500 {
		g := randomNetwork(r)
		nodes := g.Nodes()
		from, to := nodes[r.IntN(len(nodes))], nodes[r.IntN(len(nodes))]
		tree := SPF(g, from.ID)
		if _, reached := tree.Cost[to.ID]; from == to || !reached {
			continue
		}
		every := map[string]bool{}
		all, _ := tree.Paths(to.ID, math.MaxInt)
		for _, p := range all {
			every[fmt.Sprint(p)] = true
		}
		some, _ := tree.Paths(to.ID, 1)
		on := map[string]bool{}
		for _, p := range tree.cover(to.ID, some) {
			if !every[fmt.Sprint(p)] {
				t.Fatalf("%v is no shortest path, or is there twice", p)
			}
			delete(every, fmt.Sprint(p))
			for _, l := range p {
				on[l.ID] = true
			}
			added++
		}
		if used := tree.Used(to.ID); !maps.Equal(on, used) {
			t.Fatalf("on paths %v, used %v", on, used)
		}
		added--
	}
	if added == 0 {
		t.Error("no path was added: the test shows less than it says")
	}
}

func TestSPFAgreesWithEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 1500 {
		g := randomNetwork(r)
		nodes := g.Nodes()
		from, to := nodes[r.IntN(len(nodes))], nodes[r.IntN(len(nodes))]
		if from == to {
			continue
		}
		want := shortestOf(g, from.ID, to.ID)
		tree := SPF(g, from.ID)
		got, all := tree.Paths(to.ID, 1000)
		if !all || len(got) != len(want) || (len(want) > 0 && tree.Cost[to.ID] != costOf(want[0])) {
			t.Fatalf("case %d: %d paths of cost %d, want %d paths", i, len(got), tree.Cost[to.ID], len(want))
		}
		if _, unique := tree.Unique(to.ID); unique != (len(want) == 1) {
			t.Fatalf("case %d: unique is %v with %d paths", i, unique, len(want))
		}
	}
}

func TestCSPFAgreesWithEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found := 0
	for i := range 1500 {
		g := randomNetwork(r)
		if i%2 == 0 {
			someAdjacencies(r, g)
		}
		nodes := g.Nodes()
		req := Request{
			From: nodes[r.IntN(len(nodes))], To: nodes[r.IntN(len(nodes))],
			MinBandwidth: uint64(r.IntN(3)) * 100e6, AvoidShortest: r.IntN(2) == 0,
		}
		if r.IntN(4) == 0 {
			req.ExcludeNodes = []*topo.Node{nodes[r.IntN(len(nodes))]}
		}
		if links := g.Links(); len(links) > 0 && r.IntN(4) == 0 {
			req.ExcludeLinks = []*topo.Link{links[r.IntN(len(links))]}
		}
		if req.From == req.To {
			continue
		}
		want, exists := bestPath(g, req)
		p, err := CSPF(g, req)
		if (err == nil) != exists {
			t.Fatalf("case %d: error %v, but a path exists: %v", i, err, exists)
		}
		if err != nil {
			continue
		}
		found++
		used := SPF(g, req.From.ID).Used(req.To.ID)
		if got := weightOf(p.Links, req, used); got != want {
			t.Fatalf("case %d: %s has weight %v, best is %v", i, describe(p), got, want)
		}
		if !meets(p.Links, req) {
			t.Fatalf("case %d: %s breaks a constraint", i, describe(p))
		}
		if fewest := fewestSegments(g, p.Links); len(p.Segments) != fewest {
			t.Fatalf("case %d: %s pinned by %d segments, %d are enough", i, describe(p), len(p.Segments), fewest)
		}
		if again, _ := CSPF(g, req); !slices.Equal(again.Segments, p.Segments) || describe(again) != describe(p) {
			t.Fatalf("case %d: a second run differs", i)
		}
	}
	if found < 200 {
		t.Errorf("only %d random cases had a path; the test proves little", found)
	}
}

// Routers without a prefix SID may lie inside a segment but not at its end; a link with an adjacency SID needs no more.
func TestSegmentsAgreeWithEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 800 {
		g := randomNetwork(r)
		for _, n := range g.Nodes() {
			if r.IntN(3) == 0 {
				n.SIDLabel = 0
			}
		}
		someAdjacencies(r, g)
		nodes := g.Nodes()
		from, to := nodes[r.IntN(len(nodes))], nodes[r.IntN(len(nodes))]
		if from == to {
			continue
		}
		for _, path := range simplePaths(g, from.ID, to.ID) {
			want := fewestSegments(g, path)
			p := newPath(g, from, path)
			err := p.pin(g)
			if (err == nil) != (want > 0) || (err == nil && len(p.Segments) != want) {
				t.Fatalf("case %d: %s: %d segments (%v), want %d", i, describe(p), len(p.Segments), err, want)
			}
			if err == nil && !followed(g, from, p) {
				t.Fatalf("case %d: %s: packets with %v do not follow it", i, describe(p), p.Segments)
			}
		}
	}
}

func BenchmarkCSPF1000Routers(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	g := meshOf(r, 1000, 3000)
	nodes := g.Nodes()
	for b.Loop() {
		req := Request{From: nodes[r.IntN(len(nodes))], To: nodes[r.IntN(len(nodes))], AvoidShortest: true}
		if _, err := CSPF(g, req); err != nil && !errors.Is(err, ErrNoPath) && req.From != req.To {
			b.Fatal(err)
		}
	}
}

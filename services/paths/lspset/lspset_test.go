package lspset

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/services/paths/cspf"
	"github.com/millrace/millrace/services/paths/graph"
)

// figure10 is the network of paper 003, figure 10: 155 Mbit/s leave R0 towards R2, every other link has 100.
func figure10(t *testing.T) *graph.Graph {
	var nodes []graph.Node
	for i := range 8 {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint("R", i), Name: fmt.Sprint("R", i)})
	}
	var links []graph.Link
	for _, l := range [][3]int{{0, 2, 155}, {2, 3, 100}, {3, 1, 100}, {2, 4, 100}, {4, 1, 100}, {0, 5, 100}, {5, 6, 100}, {6, 7, 100}, {7, 1, 100}} {
		links = append(links, graph.Link{ID: fmt.Sprintf("%d-%d", l[0], l[1]), From: int32(l[0]), To: int32(l[1]), IGP: 10, Capacity: int64(l[2]) * 1e6})
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func text(g *graph.Graph, s Set) string {
	var out []string
	for _, m := range s.Members {
		var names []string
		for _, n := range m.Nodes {
			names = append(names, g.Node(n).Name)
		}
		out = append(out, fmt.Sprintf("%s x%d %dM", strings.Join(names, "-"), m.Weight, m.Rate/1e6))
	}
	return strings.Join(out, ", ")
}

func TestPartialAndExplicitPathsOfPaper003(t *testing.T) {
	g := figure10(t)
	for _, c := range []struct {
		rate int64
		most int
		want string
	}{
		{100e6, 3, "R0-R2-R3-R1 x1 100M"},
		{155e6, 3, "R0-R2-R3-R1 x20 100M, R0-R2-R4-R1 x11 55M"}, // not the wider one of more links
		{200e6, 3, "R0-R2-R3-R1 x1 100M, R0-R5-R6-R7-R1 x1 100M"},
		{255e6, 3, "R0-R2-R3-R1 x20 100M, R0-R5-R6-R7-R1 x20 100M, R0-R2-R4-R1 x11 55M"},
		{256e6, 3, "no set of at most 3 paths from R0 to R1 has 256Mbit/s: those found have 255Mbit/s together, and no number of paths has more than 255Mbit/s, for all of it passes 0-2 (R0 to R2), 0-5 (R0 to R5); 1Mbit/s less would fit"},
		{255e6, 2, "no set of at most 2 paths from R0 to R1 has 255Mbit/s: those found have 200Mbit/s together, and more paths have up to 255Mbit/s; allow more, or 55Mbit/s less"},
	} {
		s, err := Find(g, cspf.Request{From: 0, To: 1, Rate: c.rate}, c.most)
		got := text(g, s)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d Mbit/s:\n%s\nwant\n%s", c.rate/1e6, got, c.want)
		}
	}
}

func TestWhereNothingIsFreeTheConstraintIsNamed(t *testing.T) {
	var why *cspf.Explanation
	_, err := Find(figure10(t), cspf.Request{From: 0, To: 1, Rate: 1, Free: func(int32) int64 { return 0 }}, 3)
	if !errors.As(err, &why) {
		t.Errorf("%v", err)
	}
	if _, err := Find(figure10(t), cspf.Request{From: 1, To: 1, Rate: 1}, 3); err == nil {
		t.Error("a set from a router to itself")
	}
}

// A rate that no whole weights up to 255 are in proportion to is rounded to the nearest.
func TestWeights(t *testing.T) {
	for _, c := range []struct{ rates, want []int64 }{
		{[]int64{100e6, 100e6, 55e6}, []int64{20, 20, 11}},
		{[]int64{1000, 1}, []int64{255, 1}},
		{[]int64{1000, 501}, []int64{255, 128}},
		{[]int64{7}, []int64{1}},
		{[]int64{5110, 2560}, []int64{255, 128}},
	} {
		var s Set
		for _, r := range c.rates {
			s.Members = append(s.Members, Member{Rate: r})
		}
		var got []int64
		for _, m := range s.weighted().Members {
			got = append(got, int64(m.Weight))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("rates %v: weights %v, want %v", c.rates, got, c.want)
		}
	}
}

// leastCut is the oracle: the least capacity that parts two routers, over every part of the network.
func leastCut(g *graph.Graph, from, to int32) int64 {
	best := int64(-1)
	for side := range 1 << g.Nodes() {
		if side>>from&1 == 0 || side>>to&1 == 1 {
			continue
		}
		sum := int64(0)
		for l := range int32(g.Links()) {
			if side>>g.From(l)&1 == 1 && side>>g.To(l)&1 == 0 {
				sum += g.Capacity(l)
			}
		}
		if best < 0 || sum < best {
			best = sum
		}
	}
	return best
}

// With as many paths as there are links a set has every rate up to the least cut and none above; its paths fit side by
// side.
func TestASetHasWhatTheLeastCutHas(t *testing.T) {
	fromFlow := 0
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 99))
		n := 3 + rnd.IntN(4)
		nodes := make([]graph.Node, n)
		for i := range nodes {
			nodes[i] = graph.Node{ID: fmt.Sprint(i), Name: fmt.Sprint(i)}
		}
		var links []graph.Link
		for i := range n + rnd.IntN(3*n) {
			l := graph.Link{ID: fmt.Sprint(i), From: rnd.Int32N(int32(n)), To: rnd.Int32N(int32(n)), IGP: 1 + rnd.Uint32N(4), Capacity: rnd.Int64N(6)}
			if l.From != l.To {
				links = append(links, l)
			}
		}
		g, err := graph.New(nodes, links)
		if err != nil {
			t.Fatal(err)
		}
		cut := leastCut(g, 0, 1)
		isFlow(t, g, cut)
		if cut > 0 {
			s, err := Find(g, cspf.Request{From: 0, To: 1, Rate: cut}, max(len(links), 1))
			if err != nil {
				t.Fatalf("seed %d: the least cut is %d: %v", seed, cut, err)
			}
			fits(t, g, s, cut)
			if greedy, _ := peel(new(cspf.Workspace), g, cspf.Request{From: 0, To: 1, Rate: cut}, capacities(g), len(links)); greedy.Rate < cut {
				fromFlow++
			}
		}
		var why *Refusal
		if _, err := Find(g, cspf.Request{From: 0, To: 1, Rate: cut + 1}, max(len(links), 1)); err == nil || errors.As(err, &why) && (why.Limit != cut || why.Best.Rate != cut) {
			t.Fatalf("seed %d: the least cut is %d, and %d have %v", seed, cut, cut+1, err)
		}
	}
	if fromFlow == 0 {
		t.Error("no set needed the maximum flow")
	}
}

func capacities(g *graph.Graph) (out []int64) {
	for l := range int32(g.Links()) {
		out = append(out, g.Capacity(l))
	}
	return out
}

// The shortest path takes the link in the middle, and both of the others need it given back.
func TestTheMaximumFlowGivesBack(t *testing.T) {
	var nodes []graph.Node
	for i := range 8 {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint(i), Name: fmt.Sprint(i)})
	}
	var links []graph.Link
	for _, l := range [][2]int32{{0, 2}, {2, 3}, {3, 1}, {2, 4}, {4, 5}, {5, 1}, {0, 6}, {6, 7}, {7, 3}} {
		links = append(links, graph.Link{ID: fmt.Sprint(l), From: l[0], To: l[1], IGP: 1, Capacity: 4})
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	isFlow(t, g, 8)
}

// isFlow looks that what links carry of the greatest rate comes from the first router, goes to the second and stays
// nowhere.
func isFlow(t *testing.T, g *graph.Graph, want int64) {
	t.Helper()
	rate, flow, _, err := maximum(new(cspf.Workspace), g, cspf.Request{From: 0, To: 1}, capacities(g))
	if err != nil {
		t.Fatal(err)
	}
	kept := make([]int64, g.Nodes())
	for l, carried := range flow {
		if carried < 0 || carried > g.Capacity(int32(l)) {
			t.Fatalf("link %d carries %d of %d", l, carried, g.Capacity(int32(l)))
		}
		kept[g.From(int32(l))] -= carried
		kept[g.To(int32(l))] += carried
	}
	for n, k := range kept {
		if n == 0 && k != -want || n == 1 && k != want || n > 1 && k != 0 {
			t.Fatalf("router %d keeps %d of %d", n, k, want)
		}
	}
	if rate != want {
		t.Fatalf("the greatest rate is %d, want %d", rate, want)
	}
}

func fits(t *testing.T, g *graph.Graph, s Set, rate int64) {
	t.Helper()
	used, sum := make([]int64, g.Links()), int64(0)
	for _, m := range s.Members {
		at := int32(0)
		for _, l := range m.Links {
			if g.From(l) != at {
				t.Fatalf("%v is no path", m.Links)
			}
			at = g.To(l)
			used[l] += m.Rate
		}
		if sum += m.Rate; at != 1 || m.Rate < 1 || m.Weight < 1 || m.Weight > MaxWeight {
			t.Fatalf("member %+v", m)
		}
	}
	for l, u := range used {
		if u > g.Capacity(int32(l)) {
			t.Fatalf("link %d carries %d of %d", l, u, g.Capacity(int32(l)))
		}
	}
	if sum != s.Rate || sum < rate {
		t.Fatalf("the members have %d, the set says %d, and %d was requested", sum, s.Rate, rate)
	}
}

// With bounds on the segment list every path keeps to them.
func TestASetKeepsToTheMaximumSIDDepth(t *testing.T) {
	g := figure10(t)
	r := cspf.Request{From: 0, To: 1, Rate: 255e6, MaxSegments: 1}
	var why *Refusal
	if _, err := Find(g, r, 3); !errors.As(err, &why) && err == nil {
		t.Error("three paths by one segment each")
	}
	r.MaxSegments = 2
	s, err := Find(g, r, 3)
	if err != nil || len(s.Members) != 3 {
		t.Errorf("%v (%v)", text(g, s), err)
	}
}

// One path by a segment, and 512 more of which none is pinned by one: the search for the second gives up.
func TestASetIsWhatWasFoundBeforeTheSearchGaveUp(t *testing.T) {
	var nodes []graph.Node
	for i := range 10 {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint(i), Name: fmt.Sprint(i)})
	}
	links := []graph.Link{{ID: "direct", From: 0, To: 9, IGP: 1, Capacity: 10}}
	for i := range int32(9) {
		for _, side := range "ab" {
			links = append(links, graph.Link{ID: fmt.Sprint(i, string(side)), From: i, To: i + 1, IGP: 10, Capacity: 5})
		}
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	r := cspf.Request{From: 0, To: 9, Rate: 15, MaxSegments: 1}
	var why *Refusal
	if _, err := Find(g, r, 3); !errors.As(err, &why) || why.Best.Rate != 10 || len(why.Best.Members) != 1 {
		t.Errorf("%v, want a refusal with the one path that there is", err)
	}
	direct, _ := g.LinkIndex("direct")
	r.WithoutLinks = []int32{direct}
	if _, err := Find(g, r, 3); !errors.Is(err, cspf.ErrUndecided) {
		t.Errorf("%v, want that the search gave up", err)
	}
}

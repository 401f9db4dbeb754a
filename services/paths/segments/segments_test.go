package segments

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/paths/graph"
)

// forward is the oracle: every path that a packet with these segments may take, over every branch of equal cost.
func forward(g *graph.Graph, costs [][]int64, from int32, list []Segment) [][]int32 {
	paths := [][]int32{nil}
	at := []int32{from}
	for _, s := range list {
		var nextPaths [][]int32
		var nextAt []int32
		for i, path := range paths {
			for _, more := range segment(g, costs, at[i], s) {
				nextPaths = append(nextPaths, append(slices.Clone(path), more...))
				end := s.Node
				if s.Link >= 0 {
					end = g.To(s.Link)
				}
				nextAt = append(nextAt, end)
			}
		}
		paths, at = nextPaths, nextAt
	}
	return paths
}

// segment are the paths over one segment; an adjacency of another router drops the packet.
func segment(g *graph.Graph, costs [][]int64, at int32, s Segment) [][]int32 {
	if s.Link >= 0 {
		if g.From(s.Link) != at {
			return nil
		}
		return [][]int32{{s.Link}}
	}
	if at == s.Node {
		return [][]int32{nil}
	}
	var out [][]int32
	for l, end := g.Out(at); l < end; l++ {
		if int64(g.Weights(graph.IGP)[l])+costs[g.To(l)][s.Node] == costs[at][s.Node] {
			for _, rest := range segment(g, costs, g.To(l), s) {
				out = append(out, append([]int32{l}, rest...))
			}
		}
	}
	return out
}

// allCosts is Floyd's and Warshall's algorithm.
func allCosts(g *graph.Graph) [][]int64 {
	n := int32(g.Nodes())
	costs := make([][]int64, n)
	for i := range costs {
		costs[i] = slices.Repeat([]int64{1 << 40}, int(n))
		costs[i][i] = 0
	}
	for l := range int32(g.Links()) {
		c := &costs[g.From(l)][g.To(l)]
		*c = min(*c, int64(g.Weights(graph.IGP)[l]))
	}
	for k := range n {
		for i := range n {
			for j := range n {
				costs[i][j] = min(costs[i][j], costs[i][k]+costs[k][j])
			}
		}
	}
	return costs
}

// fewest tries all lists of segments along a path, for each place node or adjacency; -1 if none pins it.
func fewest(g *graph.Graph, costs [][]int64, path []int32, sids *SIDs) int {
	best := -1
	var try func(at int, list []Segment)
	try = func(at int, list []Segment) {
		if at == len(path) {
			paths := forward(g, costs, g.From(path[0]), list)
			if len(paths) == 1 && slices.Equal(paths[0], path) && (best < 0 || len(list) < best) {
				best = len(list)
			}
			return
		}
		if sids.link(path[at]) {
			try(at+1, append(slices.Clone(list), Segment{Node: -1, Link: path[at]}))
		}
		for end := at + 1; end <= len(path); end++ {
			if to := g.To(path[end-1]); sids.node(to) {
				try(end, append(slices.Clone(list), Segment{Node: to, Link: -1}))
			}
		}
	}
	try(0, nil)
	return best
}

func random(t testing.TB, rnd *rand.Rand) (*graph.Graph, SIDs) {
	t.Helper()
	n := 2 + rnd.IntN(5)
	nodes := make([]graph.Node, n)
	for i := range nodes {
		nodes[i].ID = fmt.Sprint(i)
	}
	var links []graph.Link
	for i := range n + rnd.IntN(2*n) {
		l := graph.Link{ID: fmt.Sprint(i), From: rnd.Int32N(int32(n)), To: rnd.Int32N(int32(n)), IGP: 1 + rnd.Uint32N(4)}
		if l.From != l.To {
			links = append(links, l)
		}
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	var s SIDs
	if rnd.IntN(2) == 0 {
		for range g.Nodes() {
			s.Node = append(s.Node, rnd.IntN(3) > 0)
		}
	}
	if rnd.IntN(2) == 0 {
		for range g.Links() {
			s.Adjacency = append(s.Adjacency, rnd.IntN(3) > 0)
		}
	}
	return g, s
}

// walk is a random path without a loop.
func walk(rnd *rand.Rand, g *graph.Graph) []int32 {
	at := rnd.Int32N(int32(g.Nodes()))
	seen := []int32{at}
	var path []int32
	for {
		first, end := g.Out(at)
		if first == end {
			return path
		}
		l := first + rnd.Int32N(end-first)
		if slices.Contains(seen, g.To(l)) {
			return path
		}
		at = g.To(l)
		seen, path = append(seen, at), append(path, l)
	}
}

func TestEveryBranchOfAListFollowsThePath(t *testing.T) {
	var f Finder
	lists, refused, adjacencies := 0, 0, 0
	for seed := range uint64(8000) {
		rnd := rand.New(rand.NewPCG(seed, 13))
		g, sids := random(t, rnd)
		path := walk(rnd, g)
		if len(path) == 0 {
			continue
		}
		costs := allCosts(g)
		want := fewest(g, costs, path, &sids)
		list, ok := f.List(g, path, &sids)
		if count := f.Count(g, path, &sids); count != want || ok != (want >= 0) || ok && len(list) != want {
			t.Fatalf("seed %d: %v, %d segments for %v, want %d", seed, list, count, path, want)
		}
		if !ok {
			refused++
			continue
		}
		lists++
		if paths := forward(g, costs, g.From(path[0]), list); len(paths) != 1 || !slices.Equal(paths[0], path) {
			t.Fatalf("seed %d: %v takes %v, want %v alone", seed, list, paths, path)
		}
		for _, s := range list {
			if s.Link >= 0 {
				adjacencies++
			}
		}
	}
	if lists < 2000 || refused < 200 || adjacencies < 400 {
		t.Errorf("%d lists with %d adjacencies, %d refused: too few", lists, adjacencies, refused)
	}
}

func TestALinkIsPinnedIfItAloneIsShortest(t *testing.T) {
	var f Finder
	for seed := range uint64(3000) {
		g, _ := random(t, rand.New(rand.NewPCG(seed, 14)))
		costs := allCosts(g)
		for l, pinned := range f.Pinned(g) {
			paths := segment(g, costs, g.From(int32(l)), Segment{Node: g.To(int32(l)), Link: -1})
			if want := len(paths) == 1 && slices.Equal(paths[0], []int32{int32(l)}); pinned != want {
				t.Fatalf("seed %d: link %d is pinned: %v, but traffic takes %v", seed, l, pinned, paths)
			}
		}
	}
}

// A link over which nothing is forwarded is on no shortest path, and has no SID.
func TestALinkThatIsAbsentPinsNothing(t *testing.T) {
	g, err := graph.New([]graph.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}}, []graph.Link{
		{ID: "ab", From: 0, To: 1, IGP: 1}, {ID: "ac", From: 0, To: 2, IGP: 1}, {ID: "cb", From: 2, To: 1, IGP: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	var f Finder
	direct, around := []int32{0}, []int32{1, 2}
	for _, c := range []struct {
		absent         []bool
		direct, around int
	}{{nil, 1, 2}, {make([]bool, 3), 1, 2}, {[]bool{true, false, false}, -1, 1}, {[]bool{false, true, false}, 1, -1}} {
		sids := SIDs{Absent: c.absent}
		if one, other := f.Count(g, direct, &sids), f.Count(g, around, &sids); one != c.direct || other != c.around {
			t.Errorf("without %v: %d and %d segments, want %d and %d", c.absent, one, other, c.direct, c.around)
		}
	}
}

func TestNodeSIDsComeFirst(t *testing.T) {
	nodes := []graph.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}
	g, err := graph.New(nodes, []graph.Link{
		{ID: "ab", From: 0, To: 1, IGP: 1}, {ID: "bc", From: 1, To: 2, IGP: 1},
		{ID: "cd1", From: 2, To: 3, IGP: 1}, {ID: "cd2", From: 2, To: 3, IGP: 1}, // parallel, of one cost
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path []int32
		want []Segment
	}{
		"one segment for the whole":             {[]int32{0, 1}, []Segment{{Node: 2, Link: -1}}},
		"a parallel link needs its adjacency":   {[]int32{0, 1, 3}, []Segment{{Node: 2, Link: -1}, {Node: -1, Link: 3}}},
		"a link alone: its router, not the SID": {[]int32{0}, []Segment{{Node: 1, Link: -1}}},
	} {
		got, ok := new(Finder).List(g, tc.path, &SIDs{})
		if diff := cmp.Diff(got, tc.want); diff != "" || !ok {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

func TestWhoIsThereNeedsNoSegment(t *testing.T) {
	g, err := graph.New([]graph.Node{{ID: "a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if list, ok := new(Finder).List(g, nil, &SIDs{}); !ok || len(list) != 0 {
		t.Errorf("%v, %t; want no segment, and that this is a list", list, ok)
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 13))
	g, sids := random(t, rnd)
	path := walk(rnd, g)
	var f Finder
	f.List(g, path, &sids)
	if n := testing.AllocsPerRun(10, func() { f.List(g, path, &sids) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

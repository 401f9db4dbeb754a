package kshortest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/graph/graphtest"
)

// rank orders paths: cost, then links.
func rank(g *graph.Graph, m graph.Metric, path []int32) [2]int64 {
	var cost int64
	for _, l := range path {
		cost += int64(g.Weights(m)[l])
	}
	return [2]int64{cost, int64(len(path))}
}

// random networks have small metrics, so that ties, parallel links and one-way links are common.
func random(t testing.TB, rnd *rand.Rand, most int) *graph.Graph {
	t.Helper()
	n := 2 + rnd.IntN(most-1)
	var nodes []graph.Node
	for i := range n {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint(i)})
	}
	var links []graph.Link
	for i := range n + rnd.IntN(3*n) {
		l := graph.Link{ID: fmt.Sprint(i), From: rnd.Int32N(int32(n)), To: rnd.Int32N(int32(n)), IGP: 1 + rnd.Uint32N(5), Delay: rnd.Uint32N(3)}
		if l.From != l.To {
			links = append(links, l)
		}
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestEveryPathComesOnceAndInOrder(t *testing.T) {
	var s Search
	most := 0
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		g := random(t, rnd, 7)
		var usable []bool
		if rnd.IntN(2) == 0 {
			for range g.Links() {
				usable = append(usable, rnd.IntN(8) > 0)
			}
		}
		m := []graph.Metric{graph.IGP, graph.Delay, graph.Hops}[rnd.IntN(3)]
		to := rnd.Int32N(int32(g.Nodes()))
		s.Towards(g, m, usable, to)
		if seed%10 == 0 { // the marks begin anew before they overflow
			s.block = math.MaxUint32 - 3
		}
		for from := range int32(g.Nodes()) {
			want := graphtest.SimplePaths(g, usable, from, to)
			if from == to {
				want = nil
			}
			most = max(most, len(want))
			compare(t, seed, g, m, &s, from, want)
		}
	}
	if most < 50 {
		t.Errorf("at most %d paths in one network: too few to say anything", most)
	}
}

func compare(t *testing.T, seed uint64, g *graph.Graph, m graph.Metric, s *Search, from int32, want [][]int32) {
	t.Helper()
	ranks := make([][2]int64, 0, len(want))
	known := map[string]bool{}
	for _, p := range want {
		ranks = append(ranks, rank(g, m, p))
		known[fmt.Sprint(p)] = true
	}
	slices.SortFunc(ranks, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	if cost, ok := s.Least(from); len(want) > 0 && (!ok || cost != ranks[0][0]) {
		t.Fatalf("seed %d: the least from %d is %d (%v), want %d", seed, from, cost, ok, ranks[0][0])
	}
	s.From(from)
	for i := range ranks {
		p, ok := s.Next()
		if !ok {
			t.Fatalf("seed %d: %d paths from %d, want %d", seed, i, from, len(want))
		}
		if got := rank(g, m, p.Links); got != ranks[i] || got[0] != p.Cost {
			t.Fatalf("seed %d: path %d from %d ranks %v with cost %d, want %v", seed, i, from, got, p.Cost, ranks[i])
		}
		if !known[fmt.Sprint(p.Links)] {
			t.Fatalf("seed %d: path %v came twice, or has a loop", seed, p.Links)
		}
		delete(known, fmt.Sprint(p.Links))
	}
	if p, ok := s.Next(); ok {
		t.Fatalf("seed %d: %v is one path too many", seed, p)
	}
}

func TestListingAllocatesNothing(t *testing.T) {
	g := random(t, rand.New(rand.NewPCG(1, 1)), 300)
	var s Search
	list := func() {
		for to := range int32(5) {
			s.Towards(g, graph.IGP, nil, to)
			for from := range int32(g.Nodes()) {
				s.From(from)
				for range 10 {
					s.Next()
				}
			}
		}
	}
	list()
	if n := testing.AllocsPerRun(3, list); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestEqualPathsKeepTheirOrder: a caller that splits a demand gets the same paths each time.
func TestEqualPathsKeepTheirOrder(t *testing.T) {
	g := random(t, rand.New(rand.NewPCG(2, 1)), 60)
	list := func(s *Search) (out [][]int32) {
		s.Towards(g, graph.Hops, nil, 0)
		s.From(1)
		for range 200 {
			if p, ok := s.Next(); ok {
				out = append(out, slices.Clone(p.Links))
			}
		}
		return out
	}
	var used Search
	want := list(&used)
	if again := list(&used); fmt.Sprint(again) != fmt.Sprint(want) || fmt.Sprint(list(new(Search))) != fmt.Sprint(want) {
		t.Error("a second listing, or another Search, has another order")
	}
}

// Of equal paths, the one over links of lower numbers comes first, wherever it was found: in the tree, as a bound, or
// by a search.
func TestEqualPathsComeInTheOrderOfTheirLinks(t *testing.T) {
	nodes := []graph.Node{{ID: "s"}, {ID: "a"}, {ID: "c"}, {ID: "t"}}
	link := func(id string, from, to int32, metric uint32) graph.Link {
		return graph.Link{ID: id, From: from, To: to, IGP: metric}
	}
	for name, tc := range map[string]struct {
		links []graph.Link
		want  []string
	}{
		"parallel links": {
			[]graph.Link{link("1", 0, 3, 1), link("2", 0, 3, 1), link("3", 0, 3, 1)},
			[]string{"1", "2", "3"},
		},
		"parallel links behind a router whose shortest path leads back": {
			[]graph.Link{link("sa", 0, 1, 1), link("ac", 1, 2, 1), link("at", 1, 3, 1), link("ca", 2, 1, 1), link("ct1", 2, 3, 5), link("ct2", 2, 3, 5)},
			[]string{"sa at", "sa ac ct1", "sa ac ct2"},
		},
	} {
		g, err := graph.New(nodes, tc.links)
		if err != nil {
			t.Fatal(err)
		}
		var s Search
		s.Towards(g, graph.IGP, nil, 3)
		s.From(0)
		var got []string
		for p, ok := s.Next(); ok; p, ok = s.Next() {
			var ids []string
			for _, l := range p.Links {
				ids = append(ids, g.Link(l).ID)
			}
			got = append(got, strings.Join(ids, " "))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

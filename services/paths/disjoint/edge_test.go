package disjoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/paths/graph"
)

func build(t testing.TB, nodes int, links ...graph.Link) *graph.Graph {
	t.Helper()
	list := make([]graph.Node, nodes)
	for i := range list {
		list[i].ID = string(rune('a' + i))
	}
	for i := range links {
		links[i].ID = fmt.Sprint(list[links[i].From].ID, list[links[i].To].ID, i)
	}
	g, err := graph.New(list, links)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// trap is the network in which taking the shortest path a–b–c–d away leaves none.
func trap(t testing.TB) *graph.Graph {
	return build(t, 4,
		graph.Link{From: 0, To: 1, IGP: 1}, graph.Link{From: 1, To: 2, IGP: 1}, graph.Link{From: 2, To: 3, IGP: 1},
		graph.Link{From: 0, To: 2, IGP: 5}, graph.Link{From: 1, To: 3, IGP: 5})
}

func TestAPairIsFoundWhereTheShortestPathIsInTheWay(t *testing.T) {
	for _, kind := range []Kind{Links, Nodes, Groups, NodesAndGroups} {
		p, err := new(Search).Find(trap(t), &Request{To: 3, Kind: kind})
		if err != nil || p.Cost != 12 || !p.Proven {
			t.Errorf("kind %d: %+v, %v; want a cost of 12", kind, p, err)
		}
	}
}

func TestARefusalNamesWhatAllPathsPass(t *testing.T) {
	bridge := build(t, 5,
		graph.Link{From: 0, To: 1, IGP: 1}, graph.Link{From: 0, To: 1, IGP: 1}, graph.Link{From: 1, To: 2, IGP: 1, SRLGs: []uint32{7}},
		graph.Link{From: 2, To: 3, IGP: 1}, graph.Link{From: 2, To: 3, IGP: 1}, graph.Link{From: 1, To: 2, IGP: 2, SRLGs: []uint32{7, 8}})
	for want, r := range map[string]Request{
		"no path leads from a to e":               {To: 4},
		"all paths from a to d pass router b":     {To: 3, Kind: Nodes},
		"all paths from a to d pass link bc2":     {To: 3, Kind: Links, Usable: []bool{true, true, true, false, true, true}},
		"all paths from a to d pass risk group 7": {To: 3, Kind: Groups},
	} {
		if _, err := new(Search).Find(bridge, &r); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	// Three paths, each of which shares a group with each other one.
	ring := build(t, 2,
		graph.Link{From: 0, To: 1, IGP: 1, SRLGs: []uint32{1, 2}}, graph.Link{From: 0, To: 1, IGP: 1, SRLGs: []uint32{2, 3}},
		graph.Link{From: 0, To: 1, IGP: 1, SRLGs: []uint32{3, 1}})
	want := "any two paths from a to b have something in common, though not all have the same"
	if _, err := new(Search).Find(ring, &Request{To: 1, Kind: Groups}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAnInvalidRequestIsRefused(t *testing.T) {
	g := trap(t)
	for want, r := range map[string]Request{
		"paths from node 0 to node 4 were requested; there are 4 nodes":  {To: 4},
		"paths from node -1 to node 0 were requested; there are 4 nodes": {From: -1},
		"paths from node 4 to node 0 were requested; there are 4 nodes":  {From: 4},
		"paths from node 0 to node -1 were requested; there are 4 nodes": {To: -1},
		"both ends are b; name two different routers":                    {From: 1, To: 1},
		"there is no metric number 4, or no kind number 0":               {To: 1, Metric: 4},
		"there is no metric number 0, or no kind number 4":               {To: 1, Kind: 4},
		"4 links are said to be usable or not; there are 5":              {To: 1, Usable: make([]bool, 4)},
		"at most -1 paths make no search":                                {To: 1, MaxPaths: -1},
	} {
		var why *Explanation
		if _, err := new(Search).Find(g, &r); err == nil || err.Error() != want || errors.As(err, &why) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// decoys has cheap links with the risks of both paths of the only pair.
func decoys(t testing.TB, n int) *graph.Graph {
	links := []graph.Link{
		{From: 0, To: 1, IGP: 100, SRLGs: []uint32{1}}, {From: 1, To: 3, IGP: 100, SRLGs: []uint32{1}},
		{From: 0, To: 2, IGP: 100, SRLGs: []uint32{2}}, {From: 2, To: 3, IGP: 100, SRLGs: []uint32{2}},
	}
	for range n {
		links = append(links, graph.Link{From: 0, To: 3, IGP: 1, SRLGs: []uint32{1, 2}})
	}
	return build(t, 4, links...)
}

func TestTheBoundOnPathsIsKept(t *testing.T) {
	g := decoys(t, 10)
	if _, err := new(Search).Find(g, &Request{To: 3, Kind: Groups, MaxPaths: 10}); !errors.Is(err, ErrUndecided) {
		t.Errorf("error %v, want that the search gave up", err)
	}
	p, err := new(Search).Find(g, &Request{To: 3, Kind: Groups, MaxPaths: 11})
	if err != nil || p.Cost != 400 || p.Proven {
		t.Errorf("with as many paths as find one: %+v, %v; want a cost of 400, not proven", p, err)
	}
	if p, err = new(Search).Find(g, &Request{To: 3, Kind: Groups}); err != nil || p.Cost != 400 || !p.Proven {
		t.Errorf("with the usual bound: %+v, %v; want a cost of 400, proven", p, err)
	}
	if _, err = new(Search).Find(decoys(t, DefaultPaths), &Request{To: 3, Kind: Groups}); !errors.Is(err, ErrUndecided) {
		t.Errorf("error %v with as many decoys as the usual bound", err)
	}
}

// Half of the best pair's cost is as far as paths need be listed, and no path needs to be once a pair is as cheap as
// one that may share groups.
func TestAProofNeedsNoMorePaths(t *testing.T) {
	half := build(t, 2,
		graph.Link{From: 0, To: 1, IGP: 1, SRLGs: []uint32{1, 2}}, // the cheapest has the groups of both others
		graph.Link{From: 0, To: 1, IGP: 10, SRLGs: []uint32{1}}, graph.Link{From: 0, To: 1, IGP: 10, SRLGs: []uint32{2}})
	least := build(t, 3,
		graph.Link{From: 0, To: 1, IGP: 1, SRLGs: []uint32{1}}, graph.Link{From: 1, To: 2, IGP: 4},
		graph.Link{From: 1, To: 2, IGP: 5}, // a path that is cheap, and has a link in common with the cheapest
		graph.Link{From: 0, To: 2, IGP: 15, SRLGs: []uint32{1}}, graph.Link{From: 0, To: 2, IGP: 15, SRLGs: []uint32{2}})
	for _, tc := range []struct {
		name   string
		g      *graph.Graph
		to     int32
		most   int
		cost   int64
		proven bool
	}{
		{"half of the best pair's cost was not reached", half, 1, 2, 20, false},
		{"half of the best pair's cost was reached", half, 1, 3, 20, true},
		{"a pair was found, and nothing asked of it", least, 2, 1, 20, false},
		{"a pair costs no more than without groups", least, 2, 2, 20, true},
	} {
		p, err := new(Search).Find(tc.g, &Request{To: tc.to, Kind: Groups, MaxPaths: tc.most})
		if err != nil || p.Cost != tc.cost || p.Proven != tc.proven {
			t.Errorf("%s: %+v, %v; want a cost of %d, proven: %t", tc.name, p, err, tc.cost, tc.proven)
		}
	}
}

// Of equal pairs, and of a pair's equal paths, the one over links of lower numbers comes first.
func TestEqualPairsComeInTheOrderOfTheirLinks(t *testing.T) {
	link := func(metric uint32, groups ...uint32) graph.Link {
		return graph.Link{From: 0, To: 1, IGP: metric, SRLGs: groups}
	}
	for name, tc := range map[string]struct {
		links         []graph.Link
		kind          Kind
		first, second int32
	}{
		"three equal links":               {[]graph.Link{link(1), link(1), link(1)}, Links, 0, 1},
		"two equal links without a group": {[]graph.Link{link(1, 1, 2), link(5, 1), link(5, 2)}, Groups, 1, 2},
		"1 with 3 costs as much as 2 with 4": {
			[]graph.Link{link(1, 1, 2, 9), link(10, 1, 9), link(10, 2, 9), link(20, 2), link(20, 1)}, Groups, 1, 3,
		},
	} {
		p, err := new(Search).Find(build(t, 2, tc.links...), &Request{To: 1, Kind: tc.kind})
		if err != nil || !slices.Equal(p.First, []int32{tc.first}) || !slices.Equal(p.Second, []int32{tc.second}) {
			t.Errorf("%s: %+v, %v; want %d and %d", name, p, err, tc.first, tc.second)
		}
	}
}

func TestAPairAllocatesNothing(t *testing.T) {
	g := random(t, rand.New(rand.NewPCG(4, 11)))
	var s Search
	n := int32(g.Nodes())
	var all []Request
	for from := range n {
		for to := range n {
			r := Request{From: from, To: to, Kind: Kind((from + to) % 2)}
			if _, err := new(Search).Find(g, &r); err == nil {
				all = append(all, r)
			}
		}
	}
	once := func() {
		for i := range all {
			s.Find(g, &all[i])
		}
	}
	once()
	if got := testing.AllocsPerRun(5, once); got != 0 || len(all) == 0 {
		t.Errorf("%v allocations for %d pairs", got, len(all))
	}
}

package disjoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/graph/graphtest"
)

// parts are what a path may not share, as the names of things.
func parts(g *graph.Graph, kind Kind, path []int32) []string {
	var out []string
	for i, l := range path {
		out = append(out, fmt.Sprint("link ", l))
		if (kind == Nodes || kind == NodesAndGroups) && i > 0 {
			out = append(out, fmt.Sprint("node ", g.From(l)))
		}
		for _, group := range g.Risks(l) {
			if kind == Groups || kind == NodesAndGroups {
				out = append(out, fmt.Sprint("group ", group))
			}
		}
	}
	return out
}

func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(part string) bool { return slices.Contains(b, part) })
}

func rank(g *graph.Graph, m graph.Metric, paths ...[]int32) (cost, hops int64) {
	for _, p := range paths {
		for _, l := range p {
			cost += int64(g.Weights(m)[l])
			hops++
		}
	}
	return cost, hops
}

func random(t testing.TB, rnd *rand.Rand) *graph.Graph {
	t.Helper()
	n := 2 + rnd.IntN(6)
	nodes := make([]graph.Node, n)
	for i := range nodes {
		nodes[i].ID = fmt.Sprint(i)
	}
	var links []graph.Link
	for i := range n + rnd.IntN(2*n) {
		l := graph.Link{ID: fmt.Sprint(i), From: rnd.Int32N(int32(n)), To: rnd.Int32N(int32(n)), IGP: 1 + rnd.Uint32N(9), Delay: rnd.Uint32N(3)}
		if rnd.IntN(3) == 0 {
			l.SRLGs = []uint32{rnd.Uint32N(6), rnd.Uint32N(6)}
		}
		back := l
		if back.ID, back.From, back.To = l.ID+"r", l.To, l.From; l.From != l.To {
			links = append(links, l)
			if rnd.IntN(3) > 0 {
				links = append(links, back)
			}
		}
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTheBestPairIsThatOfAllPairs(t *testing.T) {
	var s Search
	pairs, none, trapped := map[Kind]int{}, map[Kind]int{}, 0
	for seed := range uint64(10000) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		g := random(t, rnd)
		n := int32(g.Nodes())
		r := &Request{From: rnd.Int32N(n), Metric: graph.Metric(rnd.IntN(4)), Kind: Kind(rnd.IntN(4))}
		r.To = (r.From + 1 + rnd.Int32N(n-1)) % n
		if rnd.IntN(3) == 0 {
			for range g.Links() {
				r.Usable = append(r.Usable, rnd.IntN(8) > 0)
			}
		}
		all := graphtest.SimplePaths(g, r.Usable, r.From, r.To)
		best, ok := bestPair(g, r, all)
		got, err := s.Find(g, r)
		if !ok {
			none[r.Kind]++
			refused(t, seed, g, r, all, err)
			continue
		}
		pairs[r.Kind]++
		if err != nil || !got.Proven {
			t.Fatalf("seed %d: %v, %+v; but there is a pair of cost %v: %+v", seed, err, got, best, r)
		}
		for _, p := range [][]int32{got.First, got.Second} {
			if !slices.ContainsFunc(all, func(q []int32) bool { return slices.Equal(p, q) }) {
				t.Fatalf("seed %d: %v is no path without a loop", seed, p)
			}
		}
		cost, hops := rank(g, r.Metric, got.First, got.Second)
		first, _ := rank(g, r.Metric, got.First)
		if meet(parts(g, r.Kind, got.First), parts(g, r.Kind, got.Second)) || [2]int64{cost, hops} != best || cost != got.Cost || 2*first > cost {
			t.Fatalf("seed %d: %+v costs %d over %d links; the best is %v, for %+v", seed, got, cost, hops, best, r)
		}
		if greedyFails(g, r, all) {
			trapped++
		}
	}
	for kind := range NodesAndGroups + 1 {
		if pairs[kind] < 200 || none[kind] < 200 {
			t.Errorf("kind %d: %d pairs and %d refusals compared, too few", kind, pairs[kind], none[kind])
		}
	}
	if trapped < 50 {
		t.Errorf("only %d networks in which the shortest path is part of no best pair", trapped)
	}
}

func bestPair(g *graph.Graph, r *Request, all [][]int32) (best [2]int64, ok bool) {
	named := make([][]string, len(all))
	for i, p := range all {
		named[i] = parts(g, r.Kind, p)
	}
	for i, a := range all {
		for j, b := range all[:i] {
			if meet(named[i], named[j]) {
				continue
			}
			cost, hops := rank(g, r.Metric, a, b)
			if now := [2]int64{cost, hops}; !ok || slices.Compare(now[:], best[:]) < 0 {
				best, ok = now, true
			}
		}
	}
	return best, ok
}

// greedyFails reports whether nothing is disjoint from a cheapest path, though there is a pair.
func greedyFails(g *graph.Graph, r *Request, all [][]int32) bool {
	shortest := slices.MinFunc(all, func(a, b []int32) int {
		costA, hopsA := rank(g, r.Metric, a)
		costB, hopsB := rank(g, r.Metric, b)
		return slices.Compare([]int64{costA, hopsA}, []int64{costB, hopsB})
	})
	own := parts(g, r.Kind, shortest)
	return !slices.ContainsFunc(all, func(p []int32) bool { return !meet(own, parts(g, r.Kind, p)) })
}

// refused: what the explanation names is on every path, and it names all there is to name of groups.
func refused(t *testing.T, seed uint64, g *graph.Graph, r *Request, all [][]int32, err error) {
	t.Helper()
	var why *Explanation
	if !errors.As(err, &why) || why.Disconnected != (len(all) == 0) || why.Error() == "" {
		t.Fatalf("seed %d: error %v for %+v, with %d paths", seed, err, r, len(all))
	}
	everywhere := func(kind Kind, part string) bool {
		return !slices.ContainsFunc(all, func(p []int32) bool { return !slices.Contains(parts(g, kind, p), part) })
	}
	for _, n := range why.Nodes {
		if !everywhere(Nodes, fmt.Sprint("node ", n)) || !r.Kind.nodes() {
			t.Fatalf("seed %d: not all paths pass node %d", seed, n)
		}
	}
	for _, l := range why.Links {
		if !everywhere(Links, fmt.Sprint("link ", l)) {
			t.Fatalf("seed %d: not all paths pass link %d", seed, l)
		}
	}
	if len(why.Links)+len(why.Nodes) == 0 && len(all) > 0 && !r.Kind.groups() {
		t.Fatalf("seed %d: nothing is to blame", seed)
	}
	if len(why.Links)+len(why.Nodes) > 0 || len(all) == 0 {
		return
	}
	for _, group := range g.SRLGs() {
		if slices.Contains(why.Groups, group) != everywhere(Groups, fmt.Sprint("group ", group)) {
			t.Fatalf("seed %d: group %d is named: %v", seed, group, !everywhere(Groups, fmt.Sprint("group ", group)))
		}
	}
}

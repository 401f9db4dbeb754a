package spf

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/paths/graph"
)

// bellmanFord is the oracle: relax every link until nothing changes.
func bellmanFord(g *graph.Graph, m graph.Metric, from int32) []uint64 {
	costs := slices.Repeat([]uint64{Unreached}, g.Nodes())
	costs[from] = 0
	for changed := true; changed; {
		changed = false
		for l := range int32(g.Links()) {
			if at := costs[g.From(l)]; at != Unreached && at+uint64(g.Weights(m)[l]) < costs[g.To(l)] {
				costs[g.To(l)] = at + uint64(g.Weights(m)[l])
				changed = true
			}
		}
	}
	return costs
}

func TestCostsAreTheLeast(t *testing.T) {
	var s Search
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		g := random(t, rnd)
		for m := graph.IGP; m <= graph.Hops; m++ {
			from := rnd.Int32N(int32(g.Nodes()))
			costs := make([]uint64, g.Nodes())
			s.Costs(g, m, from, costs)
			if want := bellmanFord(g, m, from); !slices.Equal(costs, want) {
				t.Fatalf("seed %d, %s from %d: %v, want %v", seed, m, from, costs, want)
			}
		}
	}
}

func random(t testing.TB, rnd *rand.Rand) *graph.Graph {
	t.Helper()
	n := 1 + rnd.IntN(60)
	nodes := make([]graph.Node, n)
	for i := range nodes {
		nodes[i].ID = fmt.Sprint(i)
	}
	var links []graph.Link
	for i := range rnd.IntN(4 * n) {
		l := graph.Link{ID: fmt.Sprint(i), From: rnd.Int32N(int32(n)), To: rnd.Int32N(int32(n)), IGP: 1 + rnd.Uint32N(9), TE: math.MaxUint32, Delay: rnd.Uint32N(2)}
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

func TestTheQueueSorts(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var q Queue
		var want []Entry
		for range rnd.IntN(100) {
			e := Entry{Key: rnd.Uint64N(10), ID: rnd.Int32N(10)}
			want = append(want, e)
			q.Push(e)
		}
		slices.SortFunc(want, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID, b.ID)) })
		for i := range want {
			if got := q.Pop(); got != want[i] {
				t.Fatalf("seed %d: entry %d is %v, want %v", seed, i, got, want[i])
			}
		}
		if len(q) != 0 {
			t.Fatalf("seed %d: %d entries are left", seed, len(q))
		}
	}
}

// Costs would be the least with a queue in disorder, too, only later.
func TestWordsLeaveTheQueueInOrder(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		var q, want []uint64
		for range rnd.IntN(100) {
			w := rnd.Uint64N(50)
			want = append(want, w)
			q = push(q, w)
		}
		slices.Sort(want)
		for i := range want {
			var got uint64
			if got, q = pop(q); got != want[i] {
				t.Fatalf("seed %d: word %d is %d, want %d", seed, i, got, want[i])
			}
		}
	}
}

func TestKeysOrderByCostThenHops(t *testing.T) {
	long, short := Key(3)+Key(4), Key(7)
	if long <= short || Cost(long) != 7 || Cost(short) != 7 || Key(8) <= long {
		t.Errorf("keys %d, %d, %d: want 7 in one hop, 7 in two, 8", short, long, Key(8))
	}
	if longest := uint64(graph.MaxNodes-1) * Key(math.MaxUint32); Cost(longest) != (graph.MaxNodes-1)*math.MaxUint32 {
		t.Errorf("the longest path costs %d", Cost(longest))
	}
}

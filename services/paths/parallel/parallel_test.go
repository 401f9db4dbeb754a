package parallel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/spf"
)

func network(t *testing.T, n int) *graph.Graph {
	t.Helper()
	rnd := rand.New(rand.NewPCG(uint64(n), 2))
	nodes := make([]graph.Node, n)
	var links []graph.Link
	for i := range nodes {
		nodes[i].ID = fmt.Sprint(i)
		if to := rnd.IntN(n); to != i {
			links = append(links, graph.Link{ID: fmt.Sprint(i), From: int32(i), To: int32(to), IGP: 1 + rnd.Uint32N(9)})
		}
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestAnyNumberOfCoresFindsTheSame(t *testing.T) {
	room := make([]uint64, 0, 50*50)
	for _, n := range []int{1, 2, 50} {
		g := network(t, n)
		var want []uint64
		for from := range int32(n) {
			row := make([]uint64, n)
			new(spf.Search).Costs(g, graph.IGP, from, row)
			want = append(want, row...)
		}
		for _, workers := range []int{0, 1, 3, 100} {
			if got := AllPairs(g, graph.IGP, workers, room); !slices.Equal(got, want) || &got[0] != &room[:1][0] {
				t.Errorf("%d routers, %d workers: other costs, or other memory", n, workers)
			}
		}
		if got := AllPairs(g, graph.IGP, 2, nil); !slices.Equal(got, want) {
			t.Errorf("%d routers: other costs in new memory", n)
		}
	}
}

func TestEachNumberComesOnce(t *testing.T) {
	counts := make([]atomic.Int32, 1000)
	var starts atomic.Int32
	Each(4, len(counts), func() int32 { return starts.Add(1) }, func(_, i int32) { counts[i].Add(1) })
	for i := range counts {
		if n := counts[i].Load(); n != 1 {
			t.Errorf("number %d came %d times", i, n)
		}
	}
	if starts.Load() != 4 {
		t.Errorf("%d goroutines, want 4", starts.Load())
	}
}

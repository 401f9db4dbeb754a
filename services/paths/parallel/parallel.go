// Package parallel runs the searches of the path engine for many routers at once, on all cores. The searches themselves
// are single-threaded and pure; here are the goroutines.
//
// In: a graph.Graph. Out: costs between all pairs, or what the caller makes of each router. Next: packages that need
// the paths of a whole network.
package parallel

import (
	"sync"
	"sync/atomic"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/spf"
)

// Each calls do once for every number below n, on so many goroutines, and returns when all are done. start makes what
// one goroutine keeps between its calls.
func Each[W any](workers, n int, start func() W, do func(w W, i int32)) {
	var next atomic.Int32
	var all sync.WaitGroup
	for range max(1, min(workers, n)) {
		all.Go(func() {
			w := start()
			for i := next.Add(1) - 1; int(i) < n; i = next.Add(1) - 1 {
				do(w, i)
			}
		})
	}
	all.Wait()
}

// AllPairs is the least sum of a metric from each router (row) to each (column), or spf.Unreached, on so many cores.
// into is used if it is large enough.
func AllPairs(g *graph.Graph, m graph.Metric, workers int, into []uint64) []uint64 {
	n := g.Nodes()
	if cap(into) < n*n {
		into = make([]uint64, n*n)
	}
	into = into[:n*n]
	start := func() *spf.Search { return &spf.Search{} }
	Each(workers, n, start, func(s *spf.Search, from int32) {
		s.Costs(g, m, from, into[int(from)*n:(int(from)+1)*n])
	})
	return into
}

// Package graphtest is the slow and obvious side of comparisons with searches on graphs.
//
// In: a graph of some routers. Out: every path without a loop. Next: tests of services/paths/cspf,
// services/paths/disjoint and services/paths/kshortest.
package graphtest

import (
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
)

// SimplePaths are all paths without a loop over usable links, as links; nil: all are usable.
func SimplePaths(g *graph.Graph, usable []bool, from, to int32) [][]int32 {
	var out [][]int32
	seen := make([]bool, g.Nodes())
	var walk func(at int32, path []int32)
	walk = func(at int32, path []int32) {
		if at == to {
			out = append(out, slices.Clone(path))
			return
		}
		seen[at] = true
		for l, end := g.Out(at); l < end; l++ {
			if !seen[g.To(l)] && (usable == nil || usable[l]) {
				walk(g.To(l), append(path, l))
			}
		}
		seen[at] = false
	}
	walk(from, nil)
	return out
}

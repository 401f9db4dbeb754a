package paths

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/services/paths/compute"
)

// newView joins areas. Paths across areas are computed on the joined graph as
// if it were one; OSPF's preference of paths inside an area is not modelled.
func newView(areas map[string]topo.Snapshot) *view {
	names := slices.Sorted(maps.Keys(areas))
	list := make([]topo.Snapshot, 0, len(names))
	var sources []string
	merged := topo.Snapshot{Area: strings.Join(names, ",")}
	for _, name := range names {
		s := areas[name]
		list = append(list, s)
		sources = append(sources, s.Source)
		if s.Time.After(merged.Time) {
			merged.Time = s.Time
		}
	}
	merged.Source = strings.Join(slices.Compact(sources), ",")
	g := topo.NewGraph(list...)
	for _, n := range g.Nodes() {
		merged.Nodes = append(merged.Nodes, *n)
	}
	for _, l := range g.Links() {
		merged.Links = append(merged.Links, *l)
	}
	return &view{graph: g, merged: merged, index: sync.OnceValue(func() *compute.Index {
		x, err := compute.NewIndex(g)
		if err != nil { // a topology that no path engine takes is still one that the functions take
			return nil
		}
		return x
	})}
}

// path answers with the index, or, without one, in more time.
func (v *view) path(r compute.Request) (*compute.Path, error) {
	if x := v.index(); x != nil {
		return x.CSPF(r)
	}
	return compute.CSPF(v.graph, r)
}

// equal lists the equal-cost paths.
func (v *view) equal(from, to *topo.Node) ([]*compute.Path, error) {
	if x := v.index(); x != nil {
		return x.ECMP(from, to)
	}
	return compute.ECMP(v.graph, from, to)
}

package paths

import (
	"fmt"
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
	var list []topo.Snapshot
	for _, name := range slices.Sorted(maps.Keys(areas)) {
		list = append(list, areas[name])
	}
	merged := heading(areas)
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

// heading is the joined snapshot without routers and links: the names of the areas, where they come from, and when the
// latest was read.
func heading(areas map[string]topo.Snapshot) topo.Snapshot {
	names := slices.Sorted(maps.Keys(areas))
	out := topo.Snapshot{Area: strings.Join(names, ",")}
	var sources []string
	for _, name := range names {
		sources = append(sources, areas[name].Source)
		if t := areas[name].Time; t.After(out.Time) {
			out.Time = t
		}
	}
	out.Source = strings.Join(slices.Compact(sources), ",")
	return out
}

// readAgain is the same network, read later.
func (v *view) readAgain(areas map[string]topo.Snapshot) *view {
	out, h := *v, heading(areas)
	out.merged.Time, out.merged.Source = h.Time, h.Source
	return &out
}

// path answers with the index, or, without one, in more time.
func (v *view) path(r compute.Request) (*compute.Path, error) {
	if x := v.index(); x != nil {
		return x.CSPF(r)
	}
	return compute.CSPF(v.graph, r)
}

// set answers with the index alone.
func (v *view) set(r compute.SetRequest) ([]compute.SetPath, uint64, string, error) {
	x := v.index()
	if x == nil {
		return nil, 0, "", fmt.Errorf("%w: the topology does not fit into the path engine", compute.ErrNoPath)
	}
	return x.Set(r)
}

// equal lists the equal-cost paths.
func (v *view) equal(from, to *topo.Node) ([]*compute.Path, error) {
	if x := v.index(); x != nil {
		return x.ECMP(from, to)
	}
	return compute.ECMP(v.graph, from, to)
}

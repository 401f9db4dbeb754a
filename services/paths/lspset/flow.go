package lspset

import (
	"math"

	"github.com/millrace/millrace/services/paths/cspf"
	"github.com/millrace/millrace/services/paths/graph"
)

// maximum is the greatest rate that any number of paths has together, by links that meet the request: Edmonds' and
// Karp's algorithm. flow is what each link carries of it, and cut the full links that bind.
func maximum(w *cspf.Workspace, g *graph.Graph, r cspf.Request, free []int64) (rate int64, flow []int64, cut []int32, err error) {
	any := r
	any.Rate, any.Free = 0, nil
	usable, err := w.Usable(g, &any, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	f := &network{g: g, free: free, flow: make([]int64, g.Links()), usable: usable, from: r.From, to: r.To}
	for f.augment() {
	}
	// No link back over the cut carries anything, or its start would be reached too.
	for l := range int32(g.Links()) {
		if f.reached(g.From(l)) && !f.reached(g.To(l)) && usable[l] {
			cut = append(cut, l)
			rate += f.flow[l]
		}
	}
	return rate, f.flow, cut, nil
}

// network is a flow and the last search for a way to enlarge it.
type network struct {
	g          *graph.Graph
	free, flow []int64
	usable     []bool
	from, to   int32
	// by is the link that a node was reached over, forward, or backward as its complement.
	by   []int32
	seen []bool
}

func (f *network) reached(n int32) bool { return f.seen[n] }

// room is what may be added to a link, or taken from it.
func (f *network) room(step int32) int64 {
	if step < 0 {
		return f.flow[^step]
	}
	if !f.usable[step] {
		return 0
	}
	return f.free[step] - f.flow[step]
}

func (f *network) end(step int32) int32 {
	if step < 0 {
		return f.g.From(^step)
	}
	return f.g.To(step)
}

// augment finds the way of the fewest links that has room and fills it; false: there is none.
func (f *network) augment() bool {
	f.by, f.seen = make([]int32, f.g.Nodes()), make([]bool, f.g.Nodes())
	f.seen[f.from] = true
	for todo := []int32{f.from}; len(todo) > 0 && !f.seen[f.to]; todo = todo[1:] {
		f.spread(todo[0], func(n int32) { todo = append(todo, n) })
	}
	if !f.seen[f.to] {
		return false
	}
	most := int64(math.MaxInt64)
	f.back(func(step int32) { most = min(most, f.room(step)) })
	f.back(func(step int32) {
		if step < 0 {
			f.flow[^step] -= most
		} else {
			f.flow[step] += most
		}
	})
	return true
}

// spread reaches the neighbours of a node.
func (f *network) spread(at int32, found func(int32)) {
	reach := func(step int32) {
		if n := f.end(step); !f.seen[n] && f.room(step) > 0 {
			f.seen[n], f.by[n] = true, step
			found(n)
		}
	}
	for l, end := f.g.Out(at); l < end; l++ {
		reach(l)
	}
	for _, l := range f.g.In(at) {
		reach(^l)
	}
}

// back visits the way that was found, from its end.
func (f *network) back(visit func(step int32)) {
	for at := f.to; at != f.from; {
		step := f.by[at]
		visit(step)
		if step >= 0 {
			at = f.g.From(step)
		} else {
			at = f.g.To(^step)
		}
	}
}

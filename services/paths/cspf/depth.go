package cspf

import (
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
)

func (w *Workspace) boundsSegments() bool { return w.r.MaxSegments > 0 && w.lifted&Segments == 0 }

// fits reports whether the path just found can be pinned by few enough segments.
func (w *Workspace) fits() bool {
	count := w.finder.Count(w.g, w.links, &w.r.SIDs)
	return count >= 0 && count <= w.r.MaxSegments
}

// listed looks at one path after another for few enough segments: no rule says of a part of a path whether the whole
// will do.
func (w *Workspace) listed() outcome {
	got := undecided
	w.each(func() bool {
		if w.fits() {
			got = found
		}
		return got != found
	}, func() { got = none })
	if got == found {
		slices.Reverse(w.links)
		w.trace()
	}
	return got
}

// each puts the paths that meet all but the number of segments into w.links, from the best on, as long as more wants
// more and the bound on lists allows; all is called after the last there is.
func (w *Workspace) each(more func() bool, all func()) {
	w.mask = w.mask[:0]
	for l := range int32(w.g.Links()) {
		w.mask = append(w.mask, w.usable(l))
	}
	w.paths.Weighted(w.g, w.weights, w.mask, w.r.To)
	w.paths.From(w.r.From)
	most := w.r.MaxLists
	if most == 0 {
		most = DefaultLists
	}
	for range most {
		p, ok := w.paths.Next()
		if !ok {
			all()
			return
		}
		w.links = append(w.links[:0], p.Links...)
		if w.meets() && !more() {
			return
		}
	}
}

// meets reports whether w.links keeps within the bounds and passes the loose hops.
func (w *Workspace) meets() bool {
	var delay int64
	stops := w.stops()
	for _, l := range w.links {
		delay += int64(w.g.Weights(graph.Delay)[l])
		if len(stops) > 0 && w.raw.To[l] == stops[0] {
			stops = stops[1:]
		}
	}
	return len(stops) == 0 && (!w.boundsDelay() || delay <= w.r.MaxDelay) && (!w.boundsHops() || len(w.links) <= w.r.MaxHops)
}

// relaxSegments finds the path that needs the fewest segments, among those that the bound on lists allows; if none of
// them can be pinned, it is the best.
func (w *Workspace) relaxSegments(e *Explanation) (Relaxation, bool) {
	if w.try(e, Segments, w.metric()) != found {
		return Relaxation{}, false
	}
	least, links := -1, slices.Clone(w.links)
	w.each(func() bool {
		if count := w.finder.Count(w.g, w.links, &w.r.SIDs); count >= 0 && (least < 0 || count < least) {
			least, links = count, append(links[:0], w.links...)
		}
		return true
	}, func() {}) // the search before has come to the last path, or nothing would have to be explained
	w.links = append(w.links[:0], links...)
	slices.Reverse(w.links)
	w.trace()
	return Relaxation{By: int64(max(least, w.r.MaxSegments) - w.r.MaxSegments)}, true
}

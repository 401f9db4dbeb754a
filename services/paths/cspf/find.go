package cspf

import (
	"errors"
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/spf"
)

// outcome of a search.
type outcome uint8

const (
	none outcome = iota
	found
	// undecided: the bound on labels came before an answer.
	undecided
)

// ErrUndecided says that a search reached Request.MaxLabels or MaxLists: there may be a path.
var ErrUndecided = errors.New("the search reached its bound on labels or lists and found neither a path nor that there is none")

// ErrNone says that the network has no path, and not why.
var ErrNone = errors.New("there is no path")

// Find returns the best path. Where the network has none the error is an *Explanation, where the search gave up it is
// ErrUndecided, and anything else says what is wrong with the request.
func (w *Workspace) Find(g *graph.Graph, r *Request) (Path, error) {
	p, err := w.FindOnly(g, r)
	if errors.Is(err, ErrNone) {
		return Path{}, w.explain()
	}
	return p, err
}

// FindOnly is Find with ErrNone instead of an explanation, which costs several searches.
func (w *Workspace) FindOnly(g *graph.Graph, r *Request) (Path, error) {
	if err := r.check(g); err != nil {
		return Path{}, err
	}
	w.begin(g, r)
	switch w.search(g.Weights(r.Metric)) {
	case found:
		return w.path(), nil
	case undecided:
		return Path{}, ErrUndecided
	}
	return Path{}, ErrNone
}

// path is what the last search found.
func (w *Workspace) path() Path {
	p := Path{Nodes: w.nodes, Links: w.links}
	p.Cost = p.Sum(w.g, w.r.Metric)
	return p
}

// search leaves the best path by weights in w.links and w.nodes.
func (w *Workspace) search(weights []uint32) outcome {
	w.weights = weights
	if got := w.best(); got != found || !w.boundsSegments() || w.fits() {
		return got
	}
	return w.listed()
}

// best is the search but for the number of segments.
func (w *Workspace) best() outcome {
	if !w.boundsDelay() && !w.boundsHops() && len(w.stops()) == 0 {
		return w.plain()
	}
	return w.constrained()
}

func (w *Workspace) boundsDelay() bool { return w.r.MaxDelay > 0 && w.lifted&Delay == 0 }
func (w *Workspace) boundsHops() bool  { return w.r.MaxHops > 0 && w.lifted&Hops == 0 }

// stops are the loose hops to pass.
func (w *Workspace) stops() []int32 {
	if w.lifted&LooseHops != 0 {
		return nil
	}
	return w.r.Via
}

// plain is Dijkstra's algorithm. Links are judged only where they would make a path better.
func (w *Workspace) plain() outcome {
	n := w.g.Nodes()
	w.key, w.via = sized(w.key, n, spf.Unreached), sized(w.via, n, 0)
	key, via, first, to := w.key, w.via, w.raw.First, w.raw.To
	q := w.queue[:0]
	key[w.r.From] = 0
	q.Push(spf.Entry{ID: w.r.From})
	for len(q) > 0 {
		at := q.Pop()
		if at.Key > key[at.ID] {
			continue
		}
		if at.ID == w.r.To {
			break
		}
		for l := first[at.ID]; l < first[at.ID+1]; l++ {
			next := at.Key + spf.Key(w.weights[l])
			if next < key[to[l]] && w.usable(l) {
				key[to[l]], via[to[l]] = next, l
				q.Push(spf.Entry{Key: next, ID: to[l]})
			}
		}
	}
	w.queue = q
	if key[w.r.To] == spf.Unreached {
		return none
	}
	w.links = w.links[:0]
	for at := w.r.To; at != w.r.From; at = w.raw.From[via[at]] {
		w.links = append(w.links, via[at])
	}
	w.trace()
	return found
}

// trace turns w.links, last link first, round, and adds the nodes.
func (w *Workspace) trace() {
	slices.Reverse(w.links)
	w.nodes = append(w.nodes[:0], w.r.From)
	for _, l := range w.links {
		w.nodes = append(w.nodes, w.raw.To[l])
	}
}

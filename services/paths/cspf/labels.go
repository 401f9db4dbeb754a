package cspf

import (
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/spf"
)

// label is a way from the start to a node that may lead on.
type label struct {
	// key is (cost, hops) so far.
	key   uint64
	delay uint64
	node  int32
	// stage counts the loose hops that are behind.
	stage int32
	// parent is the label that it goes on from, over link; -1 at the start.
	parent, link int32
	// settled is, of a settled label, the one settled before at the same node and stage; -1 at the end of this list.
	settled int32
}

func (l *label) hops() uint64 { return l.key & 0xffff }

// constrained searches under bounds and loose hops.
//
// From the end it first finds, per node and number of loose hops passed, the least that each of cost, delay and hops
// can still add: what cannot end within the bounds is dropped at once, and the rest leaves the queue in the order of
// what it will cost at least (A*).
//
// A label that another one of its node and stage beats in cost and in every bounded resource is dropped too. That
// keeps the best walk, and without loose hops a walk that returns to a node is beaten by its own beginning. With loose
// hops it may not be: then the search is done again with no label dropped for another and none that returns.
func (w *Workspace) constrained() outcome {
	w.key = w.towards(w.key, w.weights)
	if w.boundsDelay() {
		w.delays = w.towards(w.delays, w.g.Weights(graph.Delay))
	}
	if w.boundsHops() {
		w.hops = w.towards(w.hops, w.g.Weights(graph.Hops))
	}
	got := w.settle(false)
	if got == found && len(w.stops()) > 0 && repeats(w.nodes) {
		return w.settle(true)
	}
	return got
}

// towards fills in the least key from every node to the end, behind as many loose hops as have been passed.
func (w *Workspace) towards(least []uint64, weights []uint32) []uint64 {
	n, stops := w.g.Nodes(), w.stops()
	least = sized(least, n*(len(stops)+1), spf.Unreached)
	target, base := w.r.To, uint64(0)
	for stage := len(stops); ; stage-- {
		part := least[stage*n : (stage+1)*n]
		w.reverse(part, target, base, weights)
		if stage == 0 {
			return least
		}
		target = stops[stage-1]
		if base = part[target]; base == spf.Unreached {
			return least
		}
	}
}

// reverse is Dijkstra's algorithm against the direction of the links.
func (w *Workspace) reverse(least []uint64, target int32, base uint64, weights []uint32) {
	q := w.queue[:0]
	least[target] = base
	q.Push(spf.Entry{Key: base, ID: target})
	for len(q) > 0 {
		at := q.Pop()
		if at.Key > least[at.ID] {
			continue
		}
		for _, l := range w.g.In(at.ID) {
			from, next := w.raw.From[l], at.Key+spf.Key(weights[l])
			if next < least[from] && w.usable(l) {
				least[from] = next
				q.Push(spf.Entry{Key: next, ID: from})
			}
		}
	}
	w.queue = q
}

// settle is the search over labels. Strict, it drops none for another one, and follows none back to its own nodes.
func (w *Workspace) settle(strict bool) outcome {
	most := w.r.MaxLabels
	if most == 0 {
		most = DefaultLabels
	}
	w.labels, w.queue = w.labels[:0], w.queue[:0]
	w.heads = sized(w.heads, w.g.Nodes()*(len(w.stops())+1), -1)
	w.add(label{node: w.r.From, parent: -1})
	for len(w.queue) > 0 {
		id := w.queue.Pop().ID
		at := w.labels[id]
		if at.node == w.r.To {
			w.follow(id)
			return found
		}
		if !strict {
			place := w.place(&at)
			if w.beaten(&at, w.heads[place]) {
				continue
			}
			w.labels[id].settled = w.heads[place]
			w.heads[place] = id
		}
		for l := w.raw.First[at.node]; l < w.raw.First[at.node+1]; l++ {
			if next, ok := w.extend(&at, id, l); ok && (!strict || !w.visited(id, next.node)) {
				w.add(next)
			}
		}
		if len(w.labels) > most {
			return undecided
		}
	}
	return none
}

// place is where a label's node and stage stand in tables of both.
func (w *Workspace) place(l *label) int { return int(l.stage)*w.g.Nodes() + int(l.node) }

// extend goes on over a link. The end is reached only behind all loose hops, and those only in their order.
func (w *Workspace) extend(at *label, id, l int32) (label, bool) {
	next := label{
		key: at.key + spf.Key(w.weights[l]), delay: at.delay + uint64(w.g.Weights(graph.Delay)[l]),
		node: w.raw.To[l], stage: at.stage, parent: id, link: l,
	}
	if !w.usable(l) || next.node == w.r.From {
		return next, false
	}
	stops := w.stops()
	switch stop := slices.Index(stops, next.node); {
	case stop == int(at.stage):
		next.stage++
	case stop >= 0, next.node == w.r.To && int(at.stage) < len(stops):
		return next, false
	}
	return next, true
}

// add queues a label that can end within the bounds.
func (w *Workspace) add(l label) {
	at := w.place(&l)
	if w.key[at] == spf.Unreached ||
		w.boundsDelay() && (w.delays[at] == spf.Unreached || l.delay+w.delays[at]>>16 > uint64(w.r.MaxDelay)) ||
		w.boundsHops() && (w.hops[at] == spf.Unreached || l.hops()+w.hops[at]>>16 > uint64(w.r.MaxHops)) {
		return
	}
	w.queue.Push(spf.Entry{Key: l.key + w.key[at], ID: int32(len(w.labels))})
	w.labels = append(w.labels, l)
}

// beaten reports whether a settled label of the same place has no more of anything bounded; none has more cost.
func (w *Workspace) beaten(l *label, head int32) bool {
	for ; head >= 0; head = w.labels[head].settled {
		other := &w.labels[head]
		if (!w.boundsDelay() || other.delay <= l.delay) && (!w.boundsHops() || other.hops() <= l.hops()) {
			return true
		}
	}
	return false
}

// visited reports whether the way of a label has passed a node.
func (w *Workspace) visited(id, node int32) bool {
	for ; id >= 0; id = w.labels[id].parent {
		if w.labels[id].node == node {
			return true
		}
	}
	return false
}

// follow writes down the way of a label.
func (w *Workspace) follow(id int32) {
	w.links = w.links[:0]
	for ; w.labels[id].parent >= 0; id = w.labels[id].parent {
		w.links = append(w.links, w.labels[id].link)
	}
	w.trace()
}

// repeats reports whether a node comes twice.
func repeats(nodes []int32) bool {
	for i, n := range nodes {
		if slices.Contains(nodes[:i], n) {
			return true
		}
	}
	return false
}

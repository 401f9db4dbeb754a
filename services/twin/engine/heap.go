package engine

// heap is a 4-ary heap of the next event of each actor: a link has one pending
// arrival, a connection one timer, so it holds as many entries as the network
// has actors, not packets. Measured against a binary heap and a winner tree in
// BenchmarkHeap; docs/explanation/twin.md has the figures.
type heap struct {
	order []entry
	place []int32 // of each actor in order
}

type entry struct {
	at    Time
	actor int32
}

// add gives a new actor its number; it has no event yet.
func (h *heap) add() int32 {
	actor := int32(len(h.place))
	h.place = append(h.place, int32(len(h.order)))
	h.order = append(h.order, entry{Never, actor})
	return actor
}

// top is the earliest event.
func (h *heap) top() entry { return h.order[0] }

// set moves an actor's event; Never takes it off.
func (h *heap) set(actor int32, at Time) {
	i := h.place[actor]
	if at < h.order[i].at {
		h.up(i, entry{at, actor})
	} else {
		h.down(i, entry{at, actor})
	}
}

func (h *heap) up(i int32, e entry) {
	for i > 0 {
		parent := (i - 1) >> 2
		p := h.order[parent]
		if p.at <= e.at {
			break
		}
		h.order[i] = p
		h.place[p.actor] = i
		i = parent
	}
	h.order[i] = e
	h.place[e.actor] = i
}

func (h *heap) down(i int32, e entry) {
	order := h.order
	n := int32(len(order))
	for {
		first := i<<2 + 1
		if first >= n {
			break
		}
		least, at := first, order[first].at
		for c := first + 1; c < min(first+4, n); c++ {
			if order[c].at < at {
				least, at = c, order[c].at
			}
		}
		if at >= e.at {
			break
		}
		moved := order[least]
		order[i] = moved
		h.place[moved.actor] = i
		i = least
	}
	order[i] = e
	h.place[e.actor] = i
}

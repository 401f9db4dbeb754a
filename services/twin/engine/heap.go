package engine

// heap is a 4-ary heap of the next event of each actor: a link has one pending
// arrival, a connection one timer, so it holds as many entries as the network
// has actors, not packets. Which of four children is the earliest cannot be
// predicted, so it is found without branches; three entries with time Never follow
// the last, so that there are always four children.
type heap struct {
	order []entry
	place []int32 // of each actor in order
}

type entry struct {
	at    Time
	actor int32
}

// spare is the number of entries with time Never behind the last.
const spare = 3

// add gives a new actor its number; it has no event yet.
func (h *heap) add() int32 {
	actor := int32(len(h.place))
	for len(h.order) < len(h.place)+1+spare {
		h.order = append(h.order, entry{Never, -1})
	}
	h.order[actor].actor = actor
	h.place = append(h.place, actor)
	return actor
}

// top is the earliest event.
func (h *heap) top() entry { return h.order[0] }

// set moves an actor's event; Never removes it.
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
	n := int32(len(order) - spare)
	for {
		first := i<<2 + 1
		if first >= n {
			break
		}
		least, at := earliest(order[first:first+4:first+4], first)
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

// earliest of four; of equal ones the first. The conditions are moves, not jumps.
func earliest(c []entry, first int32) (int32, Time) {
	_ = c[3]
	a, b, at, bt := first, first+2, c[0].at, c[2].at
	x, y := c[1].at, c[3].at
	if x < at {
		a = first + 1
	}
	at = min(at, x)
	if y < bt {
		b = first + 3
	}
	bt = min(bt, y)
	if bt < at {
		a = b
	}
	return a, min(at, bt)
}

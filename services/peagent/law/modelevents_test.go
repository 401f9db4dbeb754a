package law

import "math"

// events are what happens later, the earliest first, and in the order in which they were added where two are due at
// once: a heap in which each has four below it. What it moves are times and numbers, not functions: the tests move
// hundreds of millions, and container/heap, whose elements are allocated one by one, took twice the processor time.
type events struct {
	heap  []due
	order uint64
	do    []func() // by slot
	free  []uint32 // slots
}

type due struct {
	at    float64
	order uint64
	slot  uint32
}

func (d due) before(e due) bool { return d.at < e.at || d.at == e.at && d.order < e.order }

// next is when the earliest is due; without any, never.
func (e *events) next() float64 {
	if len(e.heap) == 0 {
		return math.Inf(1)
	}
	return e.heap[0].at
}

func (e *events) push(at float64, do func()) {
	e.order++
	d := due{at: at, order: e.order, slot: uint32(len(e.do))}
	if last := len(e.free) - 1; last >= 0 {
		d.slot, e.free = e.free[last], e.free[:last]
		e.do[d.slot] = do
	} else {
		e.do = append(e.do, do)
	}
	e.heap = append(e.heap, d)
	i := len(e.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !d.before(e.heap[parent]) {
			break
		}
		e.heap[i] = e.heap[parent]
		i = parent
	}
	e.heap[i] = d
}

func (e *events) pop() (at float64, do func()) {
	first, last := e.heap[0], len(e.heap)-1
	d := e.heap[last]
	e.heap = e.heap[:last]
	if last > 0 {
		e.sink(d)
	}
	do, e.do[first.slot] = e.do[first.slot], nil
	e.free = append(e.free, first.slot)
	return first.at, do
}

// sink puts the event whose place is gone below the first one's.
func (e *events) sink(d due) {
	h, i := e.heap, 0
	for {
		least, child := i, 4*i+1
		if child >= len(h) {
			break
		}
		least = child
		for c := child + 1; c < min(child+4, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(d) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = d
}

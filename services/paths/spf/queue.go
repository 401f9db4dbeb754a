package spf

// Entry waits in the queue: a node, or whatever a search numbers, at a key.
type Entry struct {
	Key uint64
	ID  int32
}

func (a Entry) before(b Entry) bool { return a.Key < b.Key || a.Key == b.Key && a.ID < b.ID }

// Queue is a heap of four children per entry: half as deep as with two, and the four lie beside each other. Entries of
// equal keys leave in the order of their ids, so that runs repeat.
type Queue []Entry

// Push adds an entry.
func (q *Queue) Push(e Entry) {
	h := append(*q, e)
	at := len(h) - 1
	for at > 0 {
		parent := (at - 1) / 4
		if !e.before(h[parent]) {
			break
		}
		h[at] = h[parent]
		at = parent
	}
	h[at] = e
	*q = h
}

// Pop takes the first entry of a queue that is not empty.
func (q *Queue) Pop() Entry {
	h := *q
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	at := 0
	for {
		child := 4*at + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(last) {
			break
		}
		h[at] = h[least]
		at = least
	}
	if len(h) > 0 {
		h[at] = last
	}
	return first
}

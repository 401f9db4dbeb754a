package compute

// places is a binary heap: the least place leaves first.
type places []place

func (q *places) push(p place) {
	h := append(*q, p)
	at := len(h) - 1
	for at > 0 && p.before(h[(at-1)/2]) {
		h[at] = h[(at-1)/2]
		at = (at - 1) / 2
	}
	h[at] = p
	*q = h
}

// pop takes the first of a queue that is not empty.
func (q *places) pop() place {
	h := *q
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	at := 0
	for 2*at+1 < len(h) {
		child := 2*at + 1
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(last) {
			break
		}
		h[at] = h[child]
		at = child
	}
	if len(h) > 0 {
		h[at] = last
	}
	return first
}

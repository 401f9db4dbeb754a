package discipline

// Ring is a first-in first-out queue that grows by doubling and never shrinks,
// so that a warm one allocates nothing.
type Ring[T any] struct {
	buffer     []T
	head, size uint32
}

// Len is how many wait.
func (r *Ring[T]) Len() int { return int(r.size) }

// Push appends.
func (r *Ring[T]) Push(v T) {
	if int(r.size) == len(r.buffer) {
		r.grow()
	}
	r.buffer[(r.head+r.size)&uint32(len(r.buffer)-1)] = v
	r.size++
}

// Pop takes the oldest; there must be one.
func (r *Ring[T]) Pop() T {
	v := r.buffer[r.head]
	r.head = (r.head + 1) & uint32(len(r.buffer)-1)
	r.size--
	return v
}

// First is the oldest; there must be one.
func (r *Ring[T]) First() *T { return &r.buffer[r.head] }

// At is the i-th oldest.
func (r *Ring[T]) At(i int) *T { return &r.buffer[(r.head+uint32(i))&uint32(len(r.buffer)-1)] }

func (r *Ring[T]) grow() {
	bigger := make([]T, max(16, 2*len(r.buffer)))
	n := copy(bigger, r.buffer[r.head:])
	copy(bigger[n:], r.buffer[:r.head])
	r.buffer, r.head = bigger, 0
}

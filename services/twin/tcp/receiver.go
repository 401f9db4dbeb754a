package tcp

// Policy is when a receiver acknowledges.
type Policy uint8

// The policies of papers 000 and 003.
const (
	// Immediate acknowledges every segment.
	Immediate Policy = iota
	// Delayed is RFC 5681, section 4.2: every second segment or after a delay, at once when out of order.
	Delayed
	// Modified is paper 003, section III-A.2: every second segment or after a delay whatever the order
	// (rule 1), and at once for a retransmission while duplicates are being sent (rule 2).
	Modified
)

// Receiver is the receiving half of one connection.
type Receiver struct {
	Policy Policy
	// Every is how many segments in order one acknowledgement acknowledges where Policy delays them.
	// Default 2 (RFC 5681); hosts whose interfaces merge segments before TCP sees them (LRO, GRO)
	// acknowledge more at once.
	Every int
	// Delay of the timer; RFC 1122 allows up to 500 ms, papers 000 and 003 use 200 ms.
	Delay Time
	// Deadline of the timer; Never when it is off.
	Deadline Time

	next    int64 // the segment that is expected
	high    int64 // one past the highest seen
	beyond  bitmap
	pending int
	// The run of segments beyond next that the last arrival belongs to.
	low, top int64

	// OutOfOrder counts arrivals that were not the expected segment, Duplicates those seen before, and Late those with
	// a number below one that had arrived before: RFC 4737's reordered packets, which is what tcptrace counts.
	OutOfOrder, Duplicates, Late int64
}

// NewReceiver has room for windows of that many segments.
func NewReceiver(p Policy, delay Time, window int) *Receiver {
	return &Receiver{Policy: p, Every: 2, Delay: delay, Deadline: Never, beyond: newBitmap(window)}
}

// Next is the segment that is expected: all before it have arrived.
func (r *Receiver) Next() int64 { return r.next }

// Block is the run beyond Next that was last added to (RFC 2018: the first block); empty when low == high.
func (r *Receiver) Block() (low, high int64) {
	if r.top <= r.next {
		return 0, 0
	}
	return max(r.low, r.next), r.top
}

// Segment processes one segment and reports whether to acknowledge now.
func (r *Receiver) Segment(now Time, seq int64, retransmission bool) bool {
	gap := r.high > r.next // something is missing
	inOrder := seq == r.next
	if !inOrder {
		r.OutOfOrder++
	}
	if seq < r.high {
		r.Late++
	}
	if seq < r.next || seq > r.next && r.beyond.get(seq) {
		r.Duplicates++
	} else {
		r.take(seq)
	}
	r.high = max(r.high, r.next)
	r.pending++
	if r.now(inOrder && !gap, gap || !inOrder, retransmission) {
		r.pending, r.Deadline = 0, Never
		return true
	}
	if r.Deadline == Never {
		r.Deadline = now + r.Delay
	}
	return false
}

func (r *Receiver) now(inOrder, duplicates, retransmission bool) bool {
	switch r.Policy {
	case Delayed:
		return !inOrder || r.pending >= r.Every
	case Modified:
		return r.pending >= r.Every || retransmission && duplicates
	}
	return true
}

// take records a segment that is new.
func (r *Receiver) take(seq int64) {
	if seq != r.next {
		r.beyond.set(seq)
		r.high = max(r.high, seq+1)
		if seq == r.top {
			r.top++
		} else {
			r.low, r.top = seq, seq+1
		}
		return
	}
	r.next++
	for r.next < r.high && r.beyond.get(r.next) {
		r.beyond.clear(r.next)
		r.next++
	}
}

// Expire is to be called when Deadline has come; it reports whether to acknowledge.
func (r *Receiver) Expire() bool {
	r.Deadline = Never
	due := r.pending > 0
	r.pending = 0
	return due
}

// bitmap is a window of booleans by sequence number.
type bitmap []uint64

func newBitmap(window int) bitmap {
	n := 1
	for n*64 < 2*window+64 {
		n *= 2
	}
	return make(bitmap, n)
}

func (b bitmap) get(i int64) bool { return b[i>>6&int64(len(b)-1)]>>(i&63)&1 == 1 }
func (b bitmap) set(i int64)      { b[i>>6&int64(len(b)-1)] |= 1 << (i & 63) }
func (b bitmap) clear(i int64)    { b[i>>6&int64(len(b)-1)] &^= 1 << (i & 63) }

// Threshold is paper 003's equation 1: how many duplicates mean a loss over that many paths, packet by packet.
func Threshold(paths int) int {
	t := 3
	for p := paths; p > 1; p /= 2 {
		t += 3
	}
	return t
}

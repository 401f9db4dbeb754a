package tcp

// States of a segment on the scoreboard.
const (
	sacked uint8 = 1 << iota
	lost
	resent // since it was lost
)

// scoreboard is RFC 6675's: which segments beyond una have arrived, which are lost.
type scoreboard struct {
	flags []uint8
	// top holds the highest sacked segments, highest first: a segment below the last of them has
	// threshold segments above it that arrived, which is RFC 6675's IsLost.
	top []int64
	// Counts over una..high.
	sacked, lost, resent int64
	edge, cursor         int64 // all below edge is judged; nothing lost and unsent is below cursor
	low, high            int64 // the block seen last, so that its known part is not walked again
	once                 int64 // 1 + the segment NewReno sends out of turn; 0: none
}

func newScoreboard(window, threshold int) scoreboard {
	n := 64
	for n < 2*window+64 {
		n *= 2
	}
	b := scoreboard{flags: make([]uint8, n), top: make([]int64, threshold)}
	b.reset()
	return b
}

func (b *scoreboard) reset() {
	for i := range b.top {
		b.top[i] = -1
	}
}

func (b *scoreboard) at(seq int64) *uint8 { return &b.flags[seq&int64(len(b.flags)-1)] }

// pipe estimates the segments in the network (RFC 6675, SetPipe).
func (b *scoreboard) pipe(una, high int64) int64 { return high - una - b.sacked - b.lost + b.resent }

// mark records a block of segments that have arrived.
func (b *scoreboard) mark(una, low, high int64) {
	low = max(low, una)
	from := low
	if low >= b.low && low <= b.high && high >= b.high {
		from = b.high
	}
	for seq := max(from, low); seq < high; seq++ {
		f := b.at(seq)
		if *f&sacked != 0 {
			continue
		}
		b.forget(f)
		*f = sacked
		b.sacked++
		b.rank(seq)
	}
	b.low, b.high = low, high
}

// forget removes a segment from the counts.
func (b *scoreboard) forget(f *uint8) {
	if *f&sacked != 0 {
		b.sacked--
	}
	if *f&lost != 0 {
		b.lost--
	}
	if *f&resent != 0 {
		b.resent--
	}
	*f = 0
}

// rank keeps the highest sacked segments in order.
func (b *scoreboard) rank(seq int64) {
	n := len(b.top)
	if seq <= b.top[n-1] {
		return
	}
	i := n - 1
	for ; i > 0 && b.top[i-1] < seq; i-- {
		b.top[i] = b.top[i-1]
	}
	b.top[i] = seq
}

// advance removes acknowledged segments.
func (b *scoreboard) advance(una, ack int64) {
	for seq := una; seq < ack; seq++ {
		b.forget(b.at(seq))
	}
	b.edge, b.cursor = max(b.edge, ack), max(b.cursor, ack)
}

// judge finds new losses and reports whether there are any.
func (b *scoreboard) judge(una int64) bool {
	limit, found := b.top[len(b.top)-1], false
	for seq := max(b.edge, una); seq < limit; seq++ {
		if f := b.at(seq); *f&(sacked|lost) == 0 {
			*f |= lost
			b.lost++
			found = true
		}
	}
	b.edge = max(b.edge, limit)
	return found
}

// loseAll is the reaction to a timeout: every segment that has not arrived is lost, retransmissions included.
func (b *scoreboard) loseAll(una, high int64) {
	for seq := una; seq < high; seq++ {
		if f := b.at(seq); *f&sacked == 0 {
			b.forget(f)
			*f = lost
			b.lost++
		}
	}
	b.edge, b.cursor = high, una
}

// next is the first segment that is lost and not sent again.
func (b *scoreboard) next(una int64) (int64, bool) {
	for seq := max(b.cursor, una); seq < b.edge; seq++ {
		if *b.at(seq)&(lost|resent) == lost {
			b.cursor = seq
			return seq, true
		}
	}
	b.cursor = max(b.cursor, b.edge)
	return 0, false
}

// nextSACK is RFC 6675's NextSeg under its pipe.
func (s *Sender) nextSACK() (int64, bool) {
	b := &s.board
	if float64(b.pipe(s.una, s.high)) >= s.cwnd {
		s.limited = true
		return 0, false
	}
	if b.lost > b.resent {
		if seq, ok := b.next(s.una); ok {
			*b.at(seq) |= resent
			b.resent++
			return seq, true
		}
	}
	if s.nxt-s.una >= int64(s.Window) || s.nxt >= s.Segments {
		s.limited = false
		return 0, false
	}
	s.nxt++
	return s.nxt - 1, true
}

// ackSACK updates the scoreboard and enters or leaves recovery.
func (s *Sender) ackSACK(now Time, ack, low, high int64) {
	b, acked := &s.board, ack-s.una
	b.advance(s.una, ack)
	s.una = ack
	if high > low {
		b.mark(s.una, low, high)
	}
	if s.recovering && s.una >= s.recover {
		s.recovering = false
	}
	found := b.judge(s.una)
	switch {
	case found && !s.recovering:
		s.reduce(now, min(s.cwnd, float64(b.pipe(s.una, s.high)+b.lost)))
		s.cwnd = s.ssthresh
	case !s.recovering || s.cwnd < s.ssthresh:
		s.grow(now, acked) // after a timeout slow start runs while the holes are filled
	}
}

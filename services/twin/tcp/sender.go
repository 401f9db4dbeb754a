// Package tcp is TCP without a network: the reaction of a sender to acknowledgements
// and of a receiver to segments, by the RFCs or by papers 000 and 003.
//
// Segments are numbered from 0, windows are in segments, times in picoseconds.
// Loss recovery is NewReno (RFC 6582) or SACK (RFC 6675), each with a settable
// threshold of duplicates; the congestion control algorithm is chosen separately.
//
// In: acknowledgements, segments, the time. Out: segments to send, deadlines of
// timers. Next: services/twin/engine, which carries the packets of both ends.
package tcp

import "math"

// Time is simulated picoseconds.
type Time = int64

const second = 1e12

// Never is later than any run.
const Never Time = math.MaxInt64

// Config of a sender. Zero values stand for the defaults.
type Config struct {
	Algorithm Algorithm
	// SACK selects RFC 6675; else NewReno.
	SACK bool
	// NS2 selects the NewReno of papers 000 and 003, which is ns-2's of February 2001, timers included. It
	// supports Reno's growth only, and neither MinimumRTO nor SACK.
	NS2 bool
	// Threshold is how many duplicates mean a loss. Default 3; papers 000 and 003 raise it.
	Threshold int
	// Window is the receiver's, in segments. Default 65536.
	Window int
	// Initial window in segments. Default 10 (RFC 6928).
	Initial float64
	// MinimumRTO. Default 1 s (RFC 6298).
	MinimumRTO Time
	// Segments to send; 0: no end.
	Segments int64
}

func (c Config) withDefaults() Config {
	if c.Threshold == 0 {
		c.Threshold = 3
	}
	if c.Window == 0 {
		c.Window = 65536
	}
	if c.Initial == 0 {
		c.Initial = 10
	}
	if c.MinimumRTO == 0 {
		c.MinimumRTO = second
	}
	if c.Segments == 0 {
		c.Segments = math.MaxInt64
	}
	return c
}

// Sender is the sending half of one connection.
type Sender struct {
	Config
	// Deadline of the retransmission timer; Never when it is off.
	Deadline Time

	una, nxt, high int64 // oldest unacknowledged, next to send, one past the highest sent
	cwnd, ssthresh float64
	dups           int
	recovering     bool
	partials       int   // partial acknowledgements of this recovery (NewReno)
	recover, held  int64 // where recovery, and the pause after Reduce, end
	limited        bool  // the window, not the source, held the last segment back
	board          scoreboard
	rtt            estimator
	cc             congestion
	ns2            ns2

	// Retransmissions, halvings of the window and timeouts.
	Retransmissions, Reductions, Timeouts int64
}

// NewSender is ready to send.
func NewSender(c Config) *Sender {
	c = c.withDefaults()
	s := &Sender{Config: c, Deadline: Never, cwnd: c.Initial, ssthresh: math.Inf(1), cc: newCongestion(c.Algorithm)}
	s.rtt = estimator{rto: max(second, c.MinimumRTO), minimum: c.MinimumRTO}
	switch {
	case c.NS2:
		s.ns2, s.ssthresh = newNS2(), float64(c.Window)
	case c.SACK:
		s.board = newScoreboard(c.Window, c.Threshold)
	}
	return s
}

// Start sets when the connection begins, from which H-TCP counts.
func (s *Sender) Start(now Time) { s.cc.lastLoss = float64(now) / second }

// Congestion is the congestion window in segments.
func (s *Sender) Congestion() float64 { return s.cwnd }

// Una is the oldest segment that is not acknowledged.
func (s *Sender) Una() int64 { return s.una }

// Done reports whether all data has been acknowledged.
func (s *Sender) Done() bool { return s.una >= s.Segments }

// Next is the segment to send now, if the windows allow one.
func (s *Sender) Next(now Time) (seq int64, retransmission, ok bool) {
	switch {
	case s.NS2:
		seq, ok = s.nextNS2(now)
	case s.SACK:
		seq, ok = s.nextSACK()
	default:
		seq, ok = s.nextReno()
	}
	if !ok {
		return 0, false, false
	}
	retransmission = seq < s.high
	if retransmission {
		s.Retransmissions++
	}
	s.high = max(s.high, s.nxt)
	if s.Deadline == Never {
		s.Deadline = now + s.interval()
	}
	return seq, retransmission, true
}

// interval of the retransmission timer.
func (s *Sender) interval() Time {
	if s.NS2 {
		return s.ns2.timeout()
	}
	return s.rtt.rto
}

// nextReno sends within the window from una; a timeout has set nxt back (RFC 5681).
func (s *Sender) nextReno() (int64, bool) {
	if hole := s.board.once; hole > 0 {
		s.board.once = 0
		return hole - 1, true
	}
	// Limited transmit (RFC 3042): each of the first two duplicates sends a segment, without opening the window.
	extra := 0.0
	if !s.recovering {
		extra = float64(min(s.dups, 2))
	}
	if float64(s.nxt-s.una) >= min(s.cwnd+extra, float64(s.Window)) {
		s.limited = true
		return 0, false
	}
	if s.nxt >= s.Segments {
		s.limited = false
		return 0, false
	}
	s.nxt++
	return s.nxt - 1, true
}

// Hold marks the host's own interface as full, so that the connection is not window-limited now (RFC 7661).
func (s *Sender) Hold() { s.limited = false }

// Reduce is the reaction of Linux before 3.6 to a full interface: that to a loss (tcp_enter_cwr). The window is
// reduced once per round trip, and slow start ends.
func (s *Sender) Reduce(now Time) {
	if s.recovering || s.una < s.held {
		return
	}
	flight := float64(s.high - s.una)
	s.ssthresh = max(flight*s.cc.loss(float64(now)/second, flight), 2)
	s.cwnd = s.ssthresh
	s.held = s.high
	s.Reductions++
}

// Ack takes an acknowledgement: all before ack have arrived, and where high > low the segments from low to
// high too; rtt is the age of the segment that caused it.
func (s *Sender) Ack(now Time, ack, low, high int64, rtt Time) {
	if ack < s.una {
		return
	}
	if s.NS2 {
		s.ackNS2(now, ack)
		return
	}
	acked := ack - s.una
	if acked > 0 || s.SACK {
		s.rtt.sample(rtt)
		s.cc.sample(float64(rtt) / second)
	}
	if s.SACK {
		s.ackSACK(now, ack, low, high)
	} else {
		s.ackReno(now, ack)
	}
	switch {
	case s.una >= s.high:
		s.Deadline = Never
	case acked > 0 && s.partials < 2:
		// NewReno's timer begins anew with the first partial acknowledgement of a recovery and not with the later
		// ones (RFC 6582, section 3.2, step 3): after many losses it goes off, and slow start is faster.
		s.Deadline = now + s.rtt.rto
	}
}

// grow opens the window, if the sender was window-limited (RFC 7661). Slow start and Reno
// count acknowledgements (RFC 5681, equations 2 and 3), which is why delayed ones slow them; the others count segments.
func (s *Sender) grow(now Time, acked int64) {
	if !s.limited || acked == 0 {
		return
	}
	step := 1.0
	if s.cwnd >= s.ssthresh {
		step = s.cc.increase(float64(now)/second, s.cwnd, s.rtt.srtt/second, float64(acked))
	}
	s.cwnd = min(s.cwnd+step, float64(s.Window))
}

// reduce begins a recovery: the window is multiplied by the algorithm's factor.
func (s *Sender) reduce(now Time, flight float64) {
	s.ssthresh = max(flight*s.cc.loss(float64(now)/second, flight), 2)
	s.recovering, s.recover = true, s.high
	s.Reductions++
}

// Expire is to be called when Deadline has come (RFC 5681, section 3.1; RFC 6298, section 5).
func (s *Sender) Expire(now Time) {
	s.Deadline = Never
	if s.una >= s.high {
		return
	}
	if s.NS2 {
		s.expireNS2(now)
		return
	}
	flight := float64(s.nxt - s.una)
	if s.SACK {
		flight = float64(s.board.pipe(s.una, s.high))
	}
	if !s.recovering {
		s.ssthresh = max(flight*s.cc.loss(float64(now)/second, flight), 2)
	}
	s.Timeouts++
	s.cwnd, s.dups, s.partials = 1, 0, 0
	s.recover = s.high
	s.rtt.backOff()
	if s.SACK {
		s.recovering = true
		s.board.loseAll(s.una, s.high)
	} else {
		s.recovering, s.nxt = false, s.una
	}
	s.Deadline = now + s.rtt.rto
}

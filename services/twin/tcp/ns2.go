package tcp

// ns2 is Agent/TCP/Newreno of ns-2 as papers 000 and 003 used it: the report is of 23 February 2001. The
// dated comments of ns-default.tcl record the changes since then. At that time timers ran in ticks of 0.1 s
// and had no minimum but two of them (a minimum of 1 s came on 14 May 2001, finer ticks in 2002); one
// segment at a time was timed, without timestamps; the window began with one segment (until 26 May 2001);
// there was no limited transmit (until 28 November 2001); duplicates opened the window beyond the threshold
// whether or not a recovery was going on, and a partial acknowledgement closed it to half the old one at
// once (deflation came on 5 May 2003).
type ns2 struct {
	// inflation is what duplicates add to the window.
	inflation int64
	// burst is how many segments may go now, negative: all that the window lets. Nothing is sent between the
	// first duplicate and the threshold, and two segments per acknowledgement at most beyond it.
	burst int
	// One segment is timed at a time, and none that is sent again (Karn).
	timing bool
	timed  int64
	since  Time
	// srtt and rttvar are in ticks, times 8 and times 4; backoff is a factor.
	srtt, rttvar, backoff int64
}

// tick is tcpTick_.
const tick = second / 10

func newNS2() ns2 { return ns2{burst: -1, backoff: 1} }

// timeout is rtt_timeout: (8 rttvar + srtt)/8 in whole ticks; 6 s before the first sample.
func (n *ns2) timeout() Time {
	after := Time(6 * second)
	if n.srtt > 0 || n.rttvar > 0 {
		after = (n.rttvar<<3 + n.srtt) >> 3 * tick
	}
	return min(max(after*n.backoff, 2*tick), 64*second)
}

// sample is rtt_update of a segment that is acknowledged now: whole ticks by the clock on the wall, at least one.
func (n *ns2) sample(now Time) {
	t := max((now-n.since+n.since%tick)/tick, 1)
	if n.srtt == 0 {
		n.srtt, n.rttvar = t<<3, t<<1
		return
	}
	d := t - n.srtt>>3
	n.srtt = max(n.srtt+d, 1)
	n.rttvar = max(n.rttvar+max(d, -d)-n.rttvar>>2, 1)
}

// backOff doubles, and forgets the average when that has been done four times.
func (n *ns2) backOff() {
	n.backoff = min(2*n.backoff, 64)
	if n.backoff > 8 {
		n.rttvar += n.srtt >> 3
		n.srtt = 0
	}
}

// windowNS2 is RenoTcpAgent::window.
func (s *Sender) windowNS2() int64 {
	return min(int64(s.cwnd)+s.ns2.inflation, int64(s.Window))
}

// nextNS2 is send_much.
func (s *Sender) nextNS2(now Time) (int64, bool) {
	n := &s.ns2
	if hole := s.board.once; hole > 0 {
		s.board.once = 0
		return hole - 1, true
	}
	if n.burst == 0 || s.nxt-s.una >= s.windowNS2() || s.nxt >= s.Segments {
		n.burst = 0
		return 0, false
	}
	n.burst--
	if s.nxt >= s.high && !n.timing {
		n.timing, n.timed, n.since = true, s.nxt, now
	}
	s.nxt++
	return s.nxt - 1, true
}

// ackNS2 is NewRenoTcpAgent::recv.
func (s *Sender) ackNS2(now Time, ack int64) {
	switch {
	case ack == s.una:
		s.duplicateNS2(now)
	case s.recovering && ack < s.recover:
		s.ns2.inflation = 0
		s.passNS2(now, ack, false)
		s.board.once = s.una + 1
	default:
		s.recovering, s.dups, s.ns2.inflation = false, 0, 0
		s.passNS2(now, ack, true)
		if s.cwnd < s.ssthresh {
			s.cwnd++
		} else {
			s.cwnd += 1 / s.cwnd
		}
	}
	switch {
	case s.dups == 0:
		s.ns2.burst = -1
	case s.dups >= s.Threshold:
		s.ns2.burst = 2
	}
}

// passNS2 is newack and partialnewack: the timer begins anew with the estimate there was.
func (s *Sender) passNS2(now Time, ack int64, sample bool) {
	n := &s.ns2
	s.Deadline = now + n.timeout()
	s.una, s.nxt = ack, max(s.nxt, ack)
	if n.timing && ack > n.timed {
		n.timing, n.backoff = false, 1
		if sample {
			n.sample(now)
		}
	}
	if s.una >= s.high {
		s.Deadline = Never
	}
}

// duplicateNS2 halves the window at the threshold, unless what is missing was sent before the last reduction (bugFix_).
func (s *Sender) duplicateNS2(now Time) {
	if s.una >= s.high {
		return
	}
	s.dups++
	switch {
	case s.dups < s.Threshold:
		return
	case s.dups > s.Threshold:
		s.ns2.inflation++
		return
	case s.una > s.recover:
		s.cwnd = float64(max(s.windowNS2()/2, 1))
		s.ssthresh = max(s.cwnd, 2)
		s.recovering, s.recover = true, s.high
		s.Reductions++
		s.ns2.timing = false
		s.Deadline = now + s.ns2.timeout()
		s.board.once = s.una + 1
	}
	s.ns2.inflation = int64(s.Threshold)
}

// expireNS2 is TcpAgent::timeout: everything from the oldest segment on is sent again.
func (s *Sender) expireNS2(now Time) {
	n := &s.ns2
	n.inflation, n.burst, n.timing = 0, -1, false
	s.ssthresh = float64(max(s.windowNS2()/2, 2))
	s.cwnd, s.dups = 1, 0
	s.recovering, s.recover, s.nxt = false, s.high, s.una
	s.board.once = 0
	n.backOff()
	s.Timeouts++
	s.Deadline = now + n.timeout()
}

package tcp

// ackReno is RFC 6582 with a settable threshold.
func (s *Sender) ackReno(now Time, ack int64) {
	if ack == s.una {
		s.duplicate(now)
		return
	}
	acked := ack - s.una
	s.una = ack
	s.nxt = max(s.nxt, ack)
	switch {
	case !s.recovering:
		s.dups = 0
		s.grow(now, acked)
	case ack >= s.recover:
		// Full acknowledgement: leave with the halved window, and no burst.
		s.cwnd = min(s.ssthresh, float64(s.high-s.una)+1)
		s.recovering, s.dups, s.partials = false, 0, 0
	default:
		// Partial: the next hole is lost too. Its retransmission goes out of turn.
		s.partials++
		s.cwnd = max(s.cwnd-float64(acked)+1, 1)
		s.board.once = s.una + 1
	}
}

// duplicate counts one, and at the threshold retransmits the hole.
func (s *Sender) duplicate(now Time) {
	if s.una >= s.high {
		return // a window probe or an old acknowledgement: nothing is out
	}
	s.dups++
	switch {
	case s.recovering:
		s.cwnd++
		s.limited = true
	case s.dups == s.Threshold && s.una >= s.recover:
		s.reduce(now, min(float64(s.high-s.una), s.cwnd))
		s.cwnd = s.ssthresh + float64(s.Threshold)
		s.board.once = s.una + 1
	}
}

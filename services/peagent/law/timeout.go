package law

const (
	// timeoutRTTs and minTimeout, in seconds, are the retransmission time-out (RTO) of management packets: the longer
	// of three round trips and 0.2 s. RFC 6298 takes SRTT + 4·RTTVAR and at least 1 s; 0.2 s is TCP_RTO_MIN of Linux,
	// and three round trips are chosen here.
	timeoutRTTs = 3
	minTimeout  = 0.2
)

// CheckTimeout reports a time-out. oldestRequest is when the oldest management packet without an answer left, 0 if all
// are answered. A time-out decreases the window; after Parameters.PeerTimeout the flow is no longer controlled.
func (f *Flow) CheckTimeout(p *Parameters, now, oldestRequest float64) bool {
	if f.Phase == NoFeedback || oldestRequest == 0 {
		return false
	}
	if now-max(f.lastFeedback, oldestRequest) > p.PeerTimeout {
		f.Phase, f.Window = NoFeedback, 0
		return true
	}
	timeout := max(timeoutRTTs*f.SRTT, minTimeout)
	if now-oldestRequest < timeout || now-f.lastTimeout < timeout {
		return false
	}
	if !f.inTimeout {
		f.inTimeout, f.windowBeforeTimeout = true, f.Window
	}
	f.Timeouts++
	f.Window *= 1 - f.B
	f.lastTimeout, f.lastDecrease, f.Phase = now, now, CongestionAvoidance
	f.clampWindow(p)
	return true
}

// undoSpuriousTimeout judges time-outs by the answer that came after all. Where no packet in front of it is lost, they
// were spurious and are undone (the Eifel response, RFC 4015): an agent or a peer that stalled for a moment is no
// congestion, and with a packet per round trip recovery would take minutes. Otherwise they were one loss event.
func (f *Flow) undoSpuriousTimeout(p *Parameters, lost float64) {
	switch {
	case !f.inTimeout:
	case lost == 0:
		f.Window = max(f.Window, f.windowBeforeTimeout)
	default:
		f.endLossInterval(p)
	}
	f.inTimeout = false
}

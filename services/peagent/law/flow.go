package law

// Phase is the phase of a flow's congestion control.
type Phase uint8

// The phases of a flow.
const (
	// NoFeedback: the far PE has not answered yet, or not for Parameters.PeerTimeout. The flow is not controlled.
	NoFeedback Phase = iota
	// SlowStart: the window doubles in Parameters.DoublingTime until the first loss event.
	SlowStart
	// CongestionAvoidance: additive increase, multiplicative decrease.
	CongestionAvoidance
)

// Feedback is the information about a flow in one answered management packet.
type Feedback struct {
	// Now is when the answer came, in seconds of any steady clock.
	Now float64
	// RTT is the round-trip time from the departure of the request to the arrival of its answer, in seconds.
	RTT float64
	// Interval is the time between two rounds of the control loop, in seconds. An answer waits so long for the law, and
	// the new rate for the kernel.
	Interval float64
	// QueueDelay is the time, in seconds, for which packets wait at this PE that keep their departure times when the
	// rate changes.
	QueueDelay float64
	// PacketSize is the mean size of the packets sent since the last feedback, as share of a full packet; 0 means full.
	PacketSize float64
	// Sent and Received count data packets in front of the management packet at this PE and at the far one.
	Sent, Received uint64
	// WindowLimited: since the last feedback the flow had more to send than its window let through (RFC 7661,
	// "cwnd-limited").
	WindowLimited bool
}

// Flow is the state of one VPN flow. Its zero value is a flow without feedback.
type Flow struct {
	Weight     float64
	Window     float64 // packets
	B          float64 // decrease factor of this flow, set by AdaptB
	SRTT       float64 // smoothed round-trip time, seconds
	LossEvents uint32
	Timeouts   uint32
	Phase      Phase

	windowLimited bool // as of the last feedback
	rateHeld      bool // shortly after the start: the rate is constant and the window follows the round-trip time
	inTimeout     bool // at least one time-out since the last feedback

	minRTT       float64 // shortest round-trip time so far: the path without queues
	lastRTT      float64 // latest sample
	controlDelay float64 // Interval plus QueueDelay of the last feedback

	meanLossInterval float64 // I_mean of RFC 5348: packets between loss events
	openLossInterval float64 // I_0 of RFC 5348: packets since the last loss event
	sent, received   uint64  // counters of the last feedback
	cumulativeLoss   uint64  // highest difference of the two so far

	sendRate   float64 // averaged, full packets per second
	correction float64 // normalised throughput of the domain over that of the flow, bounded

	windowBeforeTimeout float64 // window before the first time-out since the last feedback

	lastFeedback float64 // times, seconds
	lastDecrease float64
	lastTimeout  float64
	slowStartEnd float64 // first feedback after slow start; 0 before it
}

// Update processes feedback and reports whether the window decreased for a loss event. throughput is the domain's
// normalised throughput, 0 where it is not known.
func (f *Flow) Update(p *Parameters, fb Feedback, throughput float64) bool {
	if f.Phase == NoFeedback {
		f.start(p, fb, throughput)
		return false
	}
	elapsed := max(fb.Now-f.lastFeedback, 0)
	f.lastFeedback, f.windowLimited = fb.Now, fb.WindowLimited
	f.controlDelay = fb.Interval + fb.QueueDelay
	f.releaseRate(p, fb.Now)
	f.updateRTT(p, fb, elapsed)
	sent, lost := f.countPackets(fb)
	f.openLossInterval += sent
	f.undoSpuriousTimeout(p, lost)
	if fb.PacketSize > 0 {
		sent *= fb.PacketSize
	}
	f.updateSendRate(p, sent, elapsed)
	if lost > 0 && f.mayDecrease(fb.Now) {
		f.validateWindow(fb, throughput)
		f.decrease(p, fb.Now)
		return true
	}
	if lost == 0 && fb.WindowLimited {
		f.increase(p, sent)
	}
	return false
}

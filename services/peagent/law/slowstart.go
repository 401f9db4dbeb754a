package law

import "math"

const (
	// growthRTTs and minGrowthTime, in seconds, are how old feedback may be for slow start to go on: the longer of
	// two round trips and 0.1 s. Without feedback a flow would double blindly. Chosen here (docs/explanation/i2vfc.md,
	// "Starting, changing, failing").
	growthRTTs    = 2
	minGrowthTime = 0.1
)

// start begins control with the first feedback. Where the domain's normalised throughput is known, a flow that joins
// takes its fair share at once and skips slow start.
func (f *Flow) start(p *Parameters, fb Feedback, throughput float64) {
	f.SRTT, f.lastRTT, f.minRTT = fb.RTT, fb.RTT, fb.RTT
	f.lastFeedback, f.lastDecrease, f.lastTimeout = fb.Now, fb.Now, fb.Now
	f.sent, f.received, f.cumulativeLoss = fb.Sent, fb.Received, fb.Sent-fb.Received
	f.openLossInterval, f.windowLimited, f.correction = 0, fb.WindowLimited, 1
	f.rateHeld, f.slowStartEnd, f.inTimeout = true, 0, false
	f.Phase = SlowStart
	f.Window = p.StartRate * f.Weight * fb.RTT
	if throughput > 0 {
		f.Phase, f.Window = CongestionAvoidance, throughput*f.Weight*fb.RTT
	}
	if f.B == 0 {
		f.B = p.B
	}
	f.clampWindow(p)
	f.sendRate = f.Rate()
}

// Round is what a PE knows of a flow by itself in a round of its control loop.
type Round struct {
	// Now is the time and Elapsed that since the last round, in seconds.
	Now, Elapsed float64
	// OldestRequest is when the oldest management packet without an answer leaves this PE, 0 if all are answered. One
	// that waits behind data leaves in the future.
	OldestRequest float64
	// WindowLimited is that of Feedback, up to now.
	WindowLimited bool
}

// GrowSlowStart doubles the window over Parameters.DoublingTime while the flow is window-limited and feedback comes. It
// ends slow start at the flow's fair share, given the domain's normalised throughput.
//
// A request that waits behind data cannot have been answered. Connections that begin together fill the queue at once,
// whose packets take the longer the lower the weight: if growth paused so long, flows that start together would not
// stay in the ratio of their weights.
func (f *Flow) GrowSlowStart(p *Parameters, r Round, throughput float64) {
	silence := r.Now - max(f.lastFeedback, r.OldestRequest)
	if f.Phase != SlowStart || !r.WindowLimited || silence > max(growthRTTs*f.SRTT, minGrowthTime) {
		return
	}
	f.Window *= math.Exp2(r.Elapsed / p.DoublingTime)
	f.clampWindow(p)
	if throughput > 0 && f.Rate() >= throughput*f.Weight {
		f.EndSlowStart()
	}
}

// EndSlowStart ends slow start, because another flow of the domain has seen a loss event.
func (f *Flow) EndSlowStart() {
	if f.Phase == SlowStart {
		f.Phase = CongestionAvoidance
	}
}

// releaseRate ends the time in which the rate is held: by then queues have filled, and the round-trip time with them.
func (f *Flow) releaseRate(p *Parameters, now float64) {
	switch {
	case !f.rateHeld || f.Phase != CongestionAvoidance:
	case f.slowStartEnd == 0:
		f.slowStartEnd = now
	case now-f.slowStartEnd > max(p.RateHold, p.SmoothingRTTs*f.SRTT):
		f.rateHeld = false
		f.clampWindow(p)
	}
}

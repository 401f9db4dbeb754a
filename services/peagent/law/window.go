package law

import "math"

// validationHeadroom is how many times its sending rate a flow keeps as window when packets are lost while it does not
// use the window. Chosen here, so that an unused window is not cut below what the flow sends
// (docs/explanation/i2vfc.md, "An unused window").
const validationHeadroom = 1.25

// mayDecrease is false within a round trip (and the delay of the control loop) after a decrease: losses of that time
// belong to the same loss event.
func (f *Flow) mayDecrease(now float64) bool { return now-f.lastDecrease >= f.SRTT+f.controlDelay }

// validateWindow reduces an unused window at a loss event, but not below the flow's fair share: an unused window lets
// bursts through, which a full queue drops (RFC 7661 for TCP).
func (f *Flow) validateWindow(fb Feedback, throughput float64) {
	if !fb.WindowLimited && throughput > 0 {
		f.Window = min(f.Window, max(throughput*f.Weight, validationHeadroom*f.sendRate)*f.SRTT)
	}
}

// decrease is the reaction to a loss event. It ends slow start.
func (f *Flow) decrease(p *Parameters, now float64) {
	f.endLossInterval(p)
	f.Window *= 1 - f.B
	f.lastDecrease = now
	f.Phase = CongestionAvoidance
	f.clampWindow(p)
}

// increase adds Parameters.A per window of sent packets, in closed form: on a short path many windows pass between two
// pieces of feedback. A flow below the domain's normalised throughput grows by a share of its window as well.
func (f *Flow) increase(p *Parameters, sent float64) {
	if f.Phase == CongestionAvoidance && !f.rateHeld {
		deficit := min(max(f.correction-1, 0), 1)
		f.Window = math.Sqrt(f.Window*f.Window+2*p.A*sent) + p.CatchUp*deficit*sent
		f.clampWindow(p)
	}
}

// clampWindow keeps the window within its bounds. While the rate is held, the lower bound is the window that a flow
// starts with: one packet per round trip of a tenth of a millisecond would be a hundred megabits per second.
func (f *Flow) clampWindow(p *Parameters) {
	least := p.MinWindow
	if f.rateHeld {
		least = min(least, p.StartRate*f.Weight*f.SRTT)
	}
	f.Window = min(max(f.Window, least), p.MaxWindow)
}

package law

import "math"

// Phase is where a flow stands.
type Phase uint8

// The phases of a flow.
const (
	// Unanswered: the peer has not answered yet, or not for a long time; no window holds.
	Unanswered Phase = iota
	// Starting: doubling until the first loss.
	Starting
	// Avoiding: additive increase, multiplicative decrease.
	Avoiding
)

// Report is what one answered management packet says of a flow.
type Report struct {
	// Now is the time of the report, seconds on any steady clock.
	Now float64
	// RTT is from the packet's departure to its answer's arrival.
	RTT float64
	// Sent and Received are data packets in front of the management packet, counted since any time at either end.
	Sent, Received uint64
	// Limited tells that the flow had more to send than its window let through since the last report.
	Limited bool
}

// Flow is the state of one VPN flow. Its zero value is a flow whose peer has never answered.
type Flow struct {
	Weight float64
	Window float64 // packets
	B      float64 // the flow's own decrease, from Decrease
	RTT    float64 // smoothed, seconds

	gap       float64 // packets between loss events, averaged
	since     float64 // packets since the last event
	decreased float64 // when
	answered  float64 // when
	expired   float64 // last time-out
	sent      uint64
	received  uint64
	missing   uint64 // sent less received, the highest seen
	Events    uint32 // loss events so far
	Timeouts  uint32
	Phase     Phase
	limited   bool // as of the last report
}

// Rate is what the flow may send, packets per second: W/RTT. Zero means no limit.
func (f *Flow) Rate() float64 {
	if f.Phase == Unanswered || f.RTT <= 0 {
		return 0
	}
	return f.Window / f.RTT
}

// Level is the rate per unit of weight, which is what fairness makes equal.
func (f *Flow) Level() float64 { return f.Rate() / f.Weight }

// Update takes in one report and reports whether it was a loss event.
func (f *Flow) Update(p *Parameters, r Report, level float64) bool {
	if f.Phase == Unanswered {
		f.start(p, r, level)
		return false
	}
	f.answered, f.limited = r.Now, r.Limited
	f.smooth(r.RTT)
	passed, lost := f.count(r)
	f.since += passed
	if lost > 0 && r.Now-f.decreased >= f.RTT {
		f.decrease(p, r.Now)
		return true
	}
	if lost == 0 && r.Limited {
		f.increase(p, passed)
	}
	return false
}

// start takes the level of the domain's other flows, if any is known: a flow
// that joins asks at once for what it will get in the end.
func (f *Flow) start(p *Parameters, r Report, level float64) {
	f.RTT, f.answered, f.decreased, f.expired = r.RTT, r.Now, r.Now, r.Now
	f.sent, f.received, f.missing = r.Sent, r.Received, r.Sent-r.Received
	f.since, f.limited = 0, r.Limited
	f.Phase = Starting
	f.Window = p.StartWindow * f.Weight * r.RTT
	if level > 0 {
		f.Phase, f.Window = Avoiding, level*f.Weight*r.RTT
	}
	if f.B == 0 {
		f.B = p.B
	}
	f.clamp(p)
}

// smooth is RFC 6298's 1/8.
func (f *Flow) smooth(rtt float64) { f.RTT += (rtt - f.RTT) / 8 }

// count returns how many packets are newly missing. A counter that runs
// backwards is that of a restarted peer: from then on is counted anew.
func (f *Flow) count(r Report) (passed, lost float64) {
	missing := r.Sent - r.Received
	if r.Sent < f.sent || r.Received < f.received {
		f.sent, f.received, f.missing = r.Sent, r.Received, missing
		return 0, 0
	}
	passed = float64(r.Sent - f.sent)
	f.sent, f.received = r.Sent, r.Received
	if int64(missing-f.missing) > 0 { // else nothing, or what seemed lost came late
		lost = float64(missing - f.missing)
		f.missing = missing
	}
	return passed, lost
}

func (f *Flow) decrease(p *Parameters, now float64) {
	f.learn(p)
	f.Window *= 1 - f.B
	f.decreased, f.since = now, 0
	f.Events++
	f.Phase = Avoiding
	f.clamp(p)
}

// learn averages the intervals between loss events; what came before the first one was the start.
func (f *Flow) learn(p *Parameters) {
	switch f.Events {
	case 0:
	case 1:
		f.gap = max(f.since, 1)
	default:
		f.gap += (f.since - f.gap) / min(p.Memory, float64(f.Events))
	}
}

func (f *Flow) increase(p *Parameters, passed float64) {
	if f.Phase == Avoiding {
		f.Window += p.A * passed / f.Window
		f.clamp(p)
	}
}

// Grow doubles a starting flow over Parameters.Doubling, as long as it uses what it has; elapsed is the time since the last call.
func (f *Flow) Grow(p *Parameters, elapsed float64) {
	if f.Phase == Starting && f.limited {
		f.Window *= math.Exp2(elapsed / p.Doubling)
		f.clamp(p)
	}
}

// Settle ends the start of a flow, because another one of its domain met the limit.
func (f *Flow) Settle() {
	if f.Phase == Starting {
		f.Phase = Avoiding
	}
}

// Tick looks at the time only: asked says when the oldest unanswered management
// packet left, 0 if there is none. It reports a time-out.
func (f *Flow) Tick(p *Parameters, now, asked float64) bool {
	if f.Phase == Unanswered || asked == 0 {
		return false
	}
	if now-max(f.answered, asked) > p.DeadAfter {
		f.Phase, f.Window = Unanswered, 0
		return true
	}
	wait := max(3*f.RTT, 0.2)
	if now-asked < wait || now-f.expired < wait {
		return false
	}
	f.Timeouts++
	f.expired = now
	f.decrease(p, now)
	return true
}

// Reweigh changes weights of a domain's flows. Windows follow at once, because
// they will be proportional to them in the end; all together send what they did
// before, because the network has not changed.
func Reweigh(p *Parameters, flows []*Flow, weight []float64) {
	var before, after float64
	for i, f := range flows {
		before += f.Rate()
		after += f.Rate() * weight[i] / f.Weight
	}
	for i, f := range flows {
		if after > 0 && f.Phase != Unanswered {
			f.Window *= weight[i] / f.Weight * before / after
			f.clamp(p)
		}
		f.Weight = weight[i]
	}
}

func (f *Flow) clamp(p *Parameters) { f.Window = min(max(f.Window, p.MinWindow), p.MaxWindow) }

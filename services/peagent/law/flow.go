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
	// Lag is the time between two looks at the flow, seconds: so long may an answer lie there, and a new rate wait.
	Lag float64
	// Queue is how long packets wait that keep their departure times when the rate changes, seconds.
	Queue float64
	// Size is what packets sent since the last report are on average, as share of a full packet; 0 means full ones.
	Size float64
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

	used      float64 // throughput, full packets per second
	lag       float64 // of the last report, with its queue
	pull      float64 // the domain's level over the flow's own, from Steer
	untimed   float64 // the window before the time-outs since the last answer
	settled   float64 // when the start was over
	latest    float64 // round-trip time of the last report
	base      float64 // the shortest so far: the path without queues
	gap       float64 // packets between loss events, averaged
	since     float64 // packets since the last event
	decreased float64 // when
	answered  float64 // when
	reported  float64 // when
	expired   float64 // last time-out
	sent      uint64
	received  uint64
	missing   uint64 // sent less received, the highest seen
	Events    uint32 // loss events so far
	Timeouts  uint32
	Phase     Phase
	held      bool // a start is not long over: the rate holds, not the window
	limited   bool // as of the last report
	overdue   bool // timed out, and no answer has come since
}

// Rate is what the flow may send, packets per second: W/R. Zero means no limit.
//
// A window answers to a queue by itself, because packets leave as acknowledgements come; a rate follows a measured
// round-trip time that is already old. With the latest sample in the place of R, rate and queue chase each other, and
// with a smoothed one all the more. So the latest moves R by half of its distance from a slow mean, as in TFRC
// (RFC 5348, section 4.5), and by less where a lag makes the answer older still.
func (f *Flow) Rate() float64 {
	if f.Phase == Unanswered || f.RTT <= 0 {
		return 0
	}
	if f.held {
		return f.Window / f.RTT
	}
	move := min(max(f.latest, f.RTT/2), 2*f.RTT) - f.RTT
	return f.Window / (f.RTT + 0.5*move*f.RTT/(f.RTT+f.lag))
}

// Queue is how many seconds of packets with departure times may wait for the rate: at most full packets' worth. They leave
// late for what the law does next, so where the round-trip time is mostly queue, to which the rate answers, they may not
// wait longer than it, or rate and queue of the core chase each other; but 16 packets, or a few TCP connections would stop
// altogether. Distance answers to nothing: where it is half of the round trip all of the queue may be used, which many
// connections need whose windows are a packet or two each.
func (f *Flow) Queue(rate, full float64) float64 {
	if f.held || f.Phase != Avoiding || f.base > f.RTT/2 {
		return full / rate
	}
	return min(max(f.RTT, 16/rate), full/rate)
}

// Level is the throughput per unit of weight, which is what fairness makes equal.
func (f *Flow) Level() float64 { return f.used / f.Weight }

// Wants tells that a flow under control would send more if it could.
func (f *Flow) Wants() bool { return f.Phase == Avoiding && f.limited }

// Steer sets b by price and level of the flow beside those of its domain (0 where unknown).
func (f *Flow) Steer(p *Parameters, common, reference, level float64) {
	f.pull = 1
	if level > 0 && f.used > 0 && f.Wants() {
		f.pull = min(max(level/f.Level(), 1/p.MaxPull), p.MaxPull)
	}
	price := f.Price(p, common)
	if reference == 0 {
		price, reference = 1, 1
	}
	f.B = Decrease(p, price*f.pull*f.pull*f.pull*f.pull, reference)
}

// Update takes in one report and reports whether it was a loss event.
func (f *Flow) Update(p *Parameters, r Report, level float64) bool {
	if f.Phase == Unanswered {
		f.start(p, r, level)
		return false
	}
	f.answered, f.limited = r.Now, r.Limited
	f.lag = r.Lag + r.Queue
	f.release(p, r.Now)
	elapsed := max(r.Now-f.reported, 0)
	f.smooth(p, r, elapsed)
	passed, lost := f.count(r)
	f.since += passed
	f.overtake(p, lost)
	if r.Size > 0 {
		passed *= r.Size
	}
	f.measure(p, passed, elapsed)
	if lost > 0 && r.Now-f.decreased >= f.RTT+f.lag {
		f.validate(r, level)
		f.decrease(p, r.Now)
		return true
	}
	if lost == 0 && r.Limited {
		f.increase(p, passed)
	}
	return false
}

// validate takes back, when packets are lost, what of a window a flow did not use, down to its fair share: an unused
// window lets bursts through that a full queue drops (RFC 7661 for TCP).
func (f *Flow) validate(r Report, level float64) {
	if !r.Limited && level > 0 {
		f.Window = min(f.Window, max(level*f.Weight, 1.25*f.used)*f.RTT)
	}
}

// start takes the level of the domain's other flows, if any is known: a flow
// that joins asks at once for what it will get in the end.
func (f *Flow) start(p *Parameters, r Report, level float64) {
	f.latest, f.base, f.reported = r.RTT, r.RTT, r.Now
	f.RTT, f.answered, f.decreased, f.expired = r.RTT, r.Now, r.Now, r.Now
	f.sent, f.received, f.missing = r.Sent, r.Received, r.Sent-r.Received
	f.since, f.limited, f.pull = 0, r.Limited, 1
	f.held, f.settled, f.overdue = true, 0, false
	f.Phase = Starting
	f.Window = p.StartWindow * f.Weight * r.RTT
	if level > 0 {
		f.Phase, f.Window = Avoiding, level*f.Weight*r.RTT
	}
	if f.B == 0 {
		f.B = p.B
	}
	f.clamp(p)
	f.used = f.Rate()
}

// release ends the time in which the rate holds: queues have filled by then, and R is what it will be.
func (f *Flow) release(p *Parameters, now float64) {
	switch {
	case !f.held || f.Phase != Avoiding:
	case f.settled == 0:
		f.settled = now
	case now-f.settled > max(p.Hold, p.Smoothing*f.RTT):
		f.held = false
		f.clamp(p)
	}
}

// smooth averages round-trip times over Parameters.Smoothing of them, however often reports come, and over more where they
// are shorter than the lag. With R mostly queue, the rate answers to the latest sample with a gain of g = 1/2(R+lag) and to the
// mean over T with 1/R: s² + (g + 1/T)s + (g + 1/R)/T = 0. T must be some 1/g²R, or it rings: the rate swings between nothing
// and a multiple of the line, and the line is never full.
func (f *Flow) smooth(p *Parameters, r Report, elapsed float64) {
	before := f.RTT
	lagged := f.RTT + r.Lag
	f.RTT += (r.RTT - f.RTT) * elapsed / (elapsed + p.Smoothing*lagged*lagged/f.RTT)
	f.latest, f.base, f.reported = r.RTT, min(f.base, r.RTT), r.Now
	if f.held {
		f.Window *= f.RTT / before
		f.clamp(p)
	}
}

// measure averages the throughput over Parameters.Measure seconds, or as many round trips as Smoothing if that is longer.
func (f *Flow) measure(p *Parameters, passed, elapsed float64) {
	if elapsed > 0 {
		f.used += (passed/elapsed - f.used) * elapsed / (elapsed + max(p.Measure, p.Smoothing*f.RTT))
	}
}

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

// increase adds A per window of packets, in closed form: on a short path many windows pass between two reports.
func (f *Flow) increase(p *Parameters, passed float64) {
	if f.Phase == Avoiding && !f.held {
		behind := min(max(f.pull-1, 0), 1)
		f.Window = math.Sqrt(f.Window*f.Window+2*p.A*passed) + p.Catch*behind*passed
		f.clamp(p)
	}
}

// Grow doubles a starting flow over Parameters.Doubling, as long as it uses
// what it has and answers come, and not beyond the level of its domain; elapsed is the time since the last call.
func (f *Flow) Grow(p *Parameters, now, elapsed, level float64) {
	if f.Phase != Starting || !f.limited || now-f.answered > max(2*f.RTT, 0.1) {
		return
	}
	f.Window *= math.Exp2(elapsed / p.Doubling)
	f.clamp(p)
	if level > 0 && f.Rate() >= level*f.Weight {
		f.Settle()
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
	if !f.overdue {
		f.overdue, f.untimed = true, f.Window
	}
	f.Timeouts++
	f.Window *= 1 - f.B
	f.expired, f.decreased, f.Phase = now, now, Avoiding
	f.clamp(p)
	return true
}

// overtake judges time-outs by the answer that came after all. Where nothing is missing in front of it, it was only late,
// and they are taken back (as RFC 4015 does for TCP): an agent or a peer that stood still for a moment is no congestion,
// and a packet per round trip would take minutes to make up for it. Else they were one loss event.
func (f *Flow) overtake(p *Parameters, lost float64) {
	switch {
	case !f.overdue:
	case lost == 0:
		f.Window = max(f.Window, f.untimed)
	default:
		f.learn(p)
		f.since = 0
		f.Events++
	}
	f.overdue = false
}

// Reweigh changes weights of a domain's flows. Windows follow at once, because
// they will be proportional to them in the end; all together send what they did
// before, because the network has not changed. A queue overflows as often as it did,
// so a flow has as many more packets between loss events as it sends more: with its
// old loss rate, one that lost weight would be taken for lucky and be cut in half.
func Reweigh(p *Parameters, flows []*Flow, weight []float64) {
	var before, after float64
	for i, f := range flows {
		before += f.Rate()
		after += f.Rate() * weight[i] / f.Weight
	}
	for i, f := range flows {
		if after > 0 && f.Phase != Unanswered {
			change := weight[i] / f.Weight * before / after
			f.Window *= change
			f.untimed *= change
			f.used *= change
			f.gap *= change
			f.since *= change
			f.clamp(p)
		}
		f.Weight = weight[i]
	}
}

// clamp keeps the window within its bounds. While the rate holds instead, the least is what a flow starts with: one
// packet in a round trip of a tenth of a millisecond would be a hundred megabits per second.
func (f *Flow) clamp(p *Parameters) {
	least := p.MinWindow
	if f.held {
		least = min(least, p.StartWindow*f.Weight*f.RTT)
	}
	f.Window = min(max(f.Window, least), p.MaxWindow)
}

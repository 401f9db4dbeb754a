package split

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Rule is which line of the table decided (docs/reference/split.md).
type Rule string

// The rules, in the order in which they are looked at.
const (
	// Missing: the sample says nothing, so nothing is decided.
	Missing Rule = "missing"
	// Adapts: beta's queue is full again after a raise and loses hardly anything: its traffic takes whatever it gets.
	Adapts Rule = "adapts"
	// AtLimit: beta needs more than the policy allows.
	AtLimit Rule = "at-limit"
	// WaitBudget and WaitInterval: a move is wanted, and comes later.
	WaitBudget   Rule = "wait-budget"
	WaitInterval Rule = "wait-interval"
	// RaiseNow: beta is short of its demand. RaiseAhead: its headroom is used up, or will be.
	RaiseNow   Rule = "raise-now"
	RaiseAhead Rule = "raise-ahead"
	// WaitLow: a lower share would do, but not for long enough yet.
	WaitLow Rule = "wait-low"
	// NotWanted: a lower share would do, but alpha does without what it would get.
	NotWanted Rule = "not-wanted"
	// Lower: beta has had more than it needs, and alpha wants it.
	Lower Rule = "lower"
	// Keep: the share fits.
	Keep Rule = "keep"
)

const day = 24 * time.Hour

// Decide takes a sample and decides. It moves nothing: Applied does, once a move is in force.
func (l Law) Decide(s State, x Sample) (State, Decision) {
	s.Moved = slices.DeleteFunc(slices.Clone(s.Moved), func(t time.Time) bool { return x.At.Sub(t) >= day })
	d := Decision{Share: s.Share, At: x.At}
	if !usable(x) || !x.At.After(s.Alpha.Seen) {
		d.Rule, d.Why = Missing, "no new sample of the port: the share stays"
		return s, d
	}
	s.Alpha.observe(x.At, x.Alpha.Demand())
	s, full := l.full(s, x)
	if !full || !s.Probed {
		s.Beta.observe(x.At, x.Beta.Demand())
	}
	d.Demand = percent(s.Beta.Level, x.Capacity)
	d.Ahead = percent(s.Beta.Ahead(x.At, 2*l.MinInterval), x.Capacity)
	if full && s.Probed && d.Ahead*(1+l.Guard/100) <= float64(s.Share) {
		d.Rule = Adapts
		d.Why = fmt.Sprintf("beta fills the %d %% that it is guaranteed, as it filled less, and loses %.2g %%: traffic that takes what it gets, such as an alpha flow that nobody has found; more would be filled as well", s.Share, x.Beta.Loss())
		return s, d
	}
	most := max(percent(s.Beta.Now(), x.Capacity), d.Ahead)
	if most*(1+l.Guard/100) <= float64(s.Share) && x.Beta.Loss() < l.MaxLoss {
		s.ShortSince = time.Time{}
		return s, l.lower(s, x, d, most)
	}
	if s.ShortSince.IsZero() {
		s.ShortSince = x.At
	}
	return s, l.raise(s, x, d, most)
}

// usable: a port without a speed, or a counter that went backwards, says nothing.
func usable(x Sample) bool {
	for _, v := range []float64{x.Alpha.Sent, x.Alpha.Dropped, x.Beta.Sent, x.Beta.Dropped} {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return x.Capacity > 0 && !math.IsInf(x.Capacity, 0)
}

func percent(v, of float64) float64 { return 100 * v / of }

// The port is busy, and beta's queue has what it is guaranteed and no more, from these shares on.
const nearly = 0.95

// full notes since when beta's queue has stood full, or has not, while it loses less than a load loses that does not
// adapt. It reports one that has stood full for long enough that no burst was the cause.
func (l Law) full(s State, x Sample) (State, bool) {
	guaranteed := float64(s.Share) / 100 * x.Capacity
	busy := x.Alpha.Sent+x.Beta.Sent >= nearly*x.Capacity
	if busy && x.Beta.Sent >= nearly*guaranteed && x.Beta.Sent <= guaranteed/nearly && x.Beta.Loss() < l.MaxLoss {
		if s.FullSince.IsZero() || !s.FreeSince.IsZero() {
			s.FullSince, s.FreeSince = x.At, time.Time{}
		}
		return s, x.At.Sub(s.FullSince) >= 2*l.Settle
	}
	if s.FreeSince.IsZero() {
		s.FreeSince = x.At
	}
	s.Probed = s.Probed && x.At.Sub(s.FreeSince) < l.HoldDown
	return s, false
}

// roundUp is the share that guarantees so many percent, within the limits.
func (l Law) roundUp(percent float64) int {
	steps := math.Ceil(min(percent, 100)/float64(l.Step) - 1e-9)
	return min(max(int(steps)*l.Step, l.Min), l.Max)
}

// raise is for a share of which too little is left. RaiseNow looks at the last seconds, too: the level is behind. With
// Headroom above Guard, as Validate wants it, what is found below Max is always more than the share.
func (l Law) raise(s State, x Sample, d Decision, most float64) Decision {
	lost := x.Beta.Loss() >= l.MaxLoss
	now, waits, rule := d.Demand > float64(s.Share) || lost, l.MinInterval, RaiseAhead
	if now {
		waits, rule, most = l.Settle, RaiseNow, max(most, percent(s.Beta.Surge, x.Capacity))
	}
	to := l.roundUp(most * (1 + l.Headroom/100))
	if lost {
		to = max(to, min(s.Share+l.Step, l.Max))
	}
	reason := fmt.Sprintf("beta offers %.1f %% of the port, at most %.1f %% are forecast, and %.3g %% are lost; it is guaranteed %d %%", d.Demand, d.Ahead, x.Beta.Loss(), s.Share)
	switch {
	case s.Share >= l.Max:
		d.Rule, d.Why = AtLimit, reason+", which is the most that the policy allows"
	case x.At.Sub(s.ShortSince) < l.Settle || !now && !s.Beta.settled():
		d.Rule, d.Why = WaitInterval, reason+fmt.Sprintf("; %d %% would do, but that has not been so for long enough", to)
	case len(s.Moved) >= l.Moves:
		d.Rule, d.Why = WaitBudget, reason+fmt.Sprintf("; %d %% would do, but the %d moves of a day are used up", to, l.Moves)
	case x.At.Sub(s.Since) < waits:
		d.Rule, d.Why = WaitInterval, reason+fmt.Sprintf("; %d %% would do, and can come %v after the last move", to, waits)
	default:
		d.Rule, d.Share, d.Why = rule, to, reason+fmt.Sprintf(", and should have %d %%", to)
	}
	return d
}

// lower takes what beta has not needed for HoldDown, will not need within Horizon, and alpha wants, where the new share
// is lower by Hysteresis.
func (l Law) lower(s State, x Sample, d Decision, most float64) Decision {
	most = max(most, percent(s.Beta.Ahead(x.At, l.Horizon), x.Capacity))
	behind, known := s.Beta.behind(x.At, l.HoldDown)
	worth := func(most float64) (int, bool) {
		to := l.roundUp(most * (1 + l.Headroom/100))
		return to, float64(to) <= float64(s.Share)*(1-l.Hysteresis/100)
	}
	low, any := worth(most)
	to, lasting := worth(max(most, percent(behind, x.Capacity)))
	d.Ahead = max(d.Ahead, most)
	reason := fmt.Sprintf("beta offers %.1f %% of the port, at most %.1f %% are forecast for %v, and it is guaranteed %d %%", d.Demand, d.Ahead, l.Horizon, s.Share)
	wanted := percent(max(s.Alpha.Now(), s.Alpha.Ahead(x.At, l.Horizon)), x.Capacity)*(1+l.Guard/100) > float64(100-s.Share)
	switch {
	case !any:
		d.Rule, d.Why = Keep, reason
	case !lasting || !known:
		d.Rule, d.Why = WaitLow, reason+fmt.Sprintf("; %d %% would do, but not for %v yet", low, l.HoldDown)
	case !wanted && x.Alpha.Dropped == 0:
		d.Rule, d.Why = NotWanted, reason+fmt.Sprintf("; %d %% would do, but alpha does without the rest", to)
	case len(s.Moved) >= l.Moves/2:
		d.Rule, d.Why = WaitBudget, reason+fmt.Sprintf("; %d %% would do, but only raises may use the rest of the %d moves of a day", to, l.Moves)
	case x.At.Sub(s.Since) < max(l.MinInterval, l.HoldDown):
		d.Rule, d.Why = WaitInterval, reason+fmt.Sprintf("; %d %% would do, and can come %v after the last move", to, l.HoldDown)
	default:
		d.Rule, d.Share, d.Why = Lower, to, reason+fmt.Sprintf("; %d %% have been enough for %v", to, l.HoldDown)
	}
	return d
}

// Applied is the state once a move is in force.
func (l Law) Applied(s State, d Decision, at time.Time) State {
	if d.Rule == RaiseNow || d.Rule == RaiseAhead {
		// A raise for a full queue is a try: if that one is full as well, there is no second.
		s.Probed = s.Probed || l.wasFull(s, d.At, at)
	}
	s.Share, s.Since, s.ShortSince = d.Share, at, time.Time{}
	s.Moved = append(slices.Clone(s.Moved), at)
	return s
}

// wasFull reports whether the queue stood full at a time between the request for a move and the move's coming into
// force. A router that has the new share already lets more through meanwhile, so that the queue seems free by its end.
func (l Law) wasFull(s State, asked, at time.Time) bool {
	if s.FullSince.IsZero() || !s.FreeSince.IsZero() && !s.FreeSince.After(asked) {
		return false
	}
	if !s.FreeSince.IsZero() {
		at = s.FreeSince
	}
	return at.Sub(s.FullSince) >= 2*l.Settle
}

// GivenUp is the state after a move that came to nothing: the next one has to wait as if it had come.
func (l Law) GivenUp(s State, at time.Time) State {
	s.Since = at
	return s
}

// Package split decides how a port is shared between alpha flows and everybody else (beta). Paper 002 leaves the
// question open: "close network monitoring is required to dynamically adjust the rate/buffer space split between the
// two queues as traffic changes" (section I, finding vi; section III-G).
//
// The method is a headroom rule on a seasonal forecast. Beta's demand is smoothed exponentially; its daily course is
// learnt by quarters of an hour as in the method of Holt and Winters with Brutlag's band of deviations (LISA 2000).
// Beta is guaranteed so much more than the higher of both, and what it is guaranteed changes rarely.
//
// In: a port's State and one Sample of what its queues sent and dropped. Out: the State after it and a Decision with
// its rule and reason. Next: `millrace split advise`, which asks it for each port; papers/closedloop, which compares it
// with fixed splits.
//
// Mutation testing: 292 of 293 killed (docs/reference/mutants.md).
package split

import (
	"errors"
	"fmt"
	"time"
)

// Limits are those of a policy, in percent of the port that beta is guaranteed.
type Limits struct {
	Min, Max int
	// Step is what a share is a multiple of, but for Min and Max.
	Step int
}

// Law has the parameters of the rule. Percentages are points of the port unless said otherwise.
type Law struct {
	Limits
	// Headroom is how much more than its demand beta is guaranteed, percent of the demand. Guard is how much of it must
	// be left before the share is raised.
	Headroom, Guard float64
	// Hysteresis is by how much lower a share must be to be worth a move, percent of the present one. With a third,
	// what beta needs has to fall by as much after a raise before the share is lowered.
	Hysteresis float64
	// MinInterval is between two moves, but for a raise while beta is short of its demand: that one waits Settle.
	MinInterval, Settle time.Duration
	// HoldDown is for how long a lower share must have been enough before it is taken.
	HoldDown time.Duration
	// Horizon is how far ahead demand must stay below a lower share. Raises look two MinIntervals ahead.
	Horizon time.Duration
	// Moves is the budget in 24 hours; lowering takes no more than half of it.
	Moves int
	// MaxLoss is the loss of beta, percent of what it offers, from which the load does not adapt to what it gets.
	MaxLoss float64
}

// Default has a headroom of a quarter, as much as keeps a queue of single packets short (a load of 0.8); the rest
// follows from how fast a day changes.
func Default() Law {
	return Law{
		Limits:   Limits{Min: 5, Max: 60, Step: 5},
		Headroom: 25, Guard: 10, Hysteresis: 33,
		MinInterval: 15 * time.Minute, Settle: time.Minute, HoldDown: time.Hour, Horizon: 4 * time.Hour,
		Moves: 12, MaxLoss: 1,
	}
}

// Validate names the parameter that is out of range.
func (l Law) Validate() error {
	switch {
	case l.Min < 1 || l.Max > 99 || l.Min > l.Max:
		return fmt.Errorf("beta's share from %d to %d %%: write limits between 1 and 99, the lower first", l.Min, l.Max)
	case l.Step < 1 || l.Step > 50:
		return fmt.Errorf("a step of %d points: write 1 to 50", l.Step)
	case l.Guard < 0 || l.Headroom <= l.Guard || l.Headroom > 400:
		return fmt.Errorf("a headroom of %g %% with a guard of %g %%: write a guard of 0 or more, and a headroom above it, at most 400", l.Headroom, l.Guard)
	case l.Hysteresis < 5 || l.Hysteresis >= 100:
		return fmt.Errorf("a hysteresis of %g %%: write at least 5, below 100", l.Hysteresis)
	case l.Settle <= 0 || l.MinInterval < l.Settle || l.HoldDown < l.MinInterval:
		return errors.New("write settle above 0, min_interval of at least that, and hold_down of at least min_interval")
	case l.Horizon < 0 || l.Horizon >= 24*time.Hour:
		return fmt.Errorf("a horizon of %v: write 0 or more, below 24h", l.Horizon)
	case l.Moves < 2:
		return fmt.Errorf("%d moves in 24 hours: write 2 or more, for one that lowers needs one that raises", l.Moves)
	case l.MaxLoss <= 0 || l.MaxLoss > 100:
		return fmt.Errorf("max_loss of %g %%: write a number above 0, at most 100", l.MaxLoss)
	}
	return nil
}

// Load is what one queue had to send since the sample before, in bit/s.
type Load struct{ Sent, Dropped float64 }

// Demand is what was offered. Of traffic that adapts to what it gets it says only that.
func (l Load) Demand() float64 { return l.Sent + l.Dropped }

// Loss is in percent of what was offered.
func (l Load) Loss() float64 {
	if l.Demand() <= 0 {
		return 0
	}
	return 100 * l.Dropped / l.Demand()
}

// Sample is of one port.
type Sample struct {
	At time.Time
	// Capacity of the port, bit/s.
	Capacity    float64
	Alpha, Beta Load
}

// State is all that is remembered of a port. Its zero value with a Share is a port that was never looked at.
type State struct {
	// Share is what beta is guaranteed now, percent.
	Share int
	// Since is when the share came into force, or when a move to another one was given up.
	Since time.Time
	// Moved are the moves of the last 24 hours.
	Moved []time.Time
	// ShortSince is since when beta has had less room than Guard; zero: it has more.
	ShortSince time.Time
	// Probed: the share was raised for a full queue that lost hardly anything. FullSince is since when it is full, or
	// when it was last; FreeSince is since when it is not full any more, zero while it is.
	Probed               bool
	FullSince, FreeSince time.Time
	Alpha, Beta          Course
}

// Decision is what a step comes to.
type Decision struct {
	Rule Rule
	// At is when it was made, or asked for.
	At time.Time
	// Share is what beta should be guaranteed: State.Share unless Rule moves.
	Share int
	// Demand and Ahead are beta's, now and the highest forecast that counted, percent of the port.
	Demand, Ahead float64
	// Why says it in a sentence.
	Why string
}

// Moves reports whether the decision asks for another share.
func (d Decision) Moves() bool { return d.Rule == RaiseNow || d.Rule == RaiseAhead || d.Rule == Lower }

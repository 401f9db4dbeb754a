package law

import "fmt"

// Parameters are the constants of the law, the same for all flows of a domain.
type Parameters struct {
	// A is the additive increase in packets per round-trip time. Below 1, or the
	// law is as fast as the TCP inside it and both disturb each other (paper 001, Fig. 3).
	A float64
	// B is the multiplicative decrease of a flow whose price is the domain's
	// reference; the others' follow from it. Below 0.5 for the same reason.
	B float64
	// Catch is the share of its window by which a flow that has half of its domain's level grows in a round trip,
	// beside A; in proportion, where it lacks less.
	Catch float64
	// MinB and MaxB bound the decrease of every flow.
	MinB, MaxB float64
	// MinWindow, in packets, is what a flow is never taken below: what keeps
	// management packets meaningful while a core is in flames.
	MinWindow float64
	// MaxWindow, in packets, bounds what an idle path may promise.
	MaxWindow float64
	// StartWindow is the window per unit of weight and per second of round-trip
	// time at which a flow starts, where no other flow of the domain knows better.
	StartWindow float64
	// Doubling is the time, in seconds, in which a starting flow doubles. It is a
	// time and not a round trip, so that flows which start together grow in step.
	Doubling float64
	// Hold is how long after a flow's start, in seconds, its rate holds and not its window: its round-trip time grows
	// from nothing to that of full queues, of which some flows cross more than others.
	Hold float64
	// Smoothing is the number of round trips over which the round-trip time is averaged, where no lag asks for more.
	Smoothing float64
	// Measure, in seconds, is the time over which throughput is averaged.
	Measure float64
	// MaxPull bounds the ratio of a domain's level to a flow's, as far as it counts.
	MaxPull float64
	// Memory is the number of loss events over which the loss rate is averaged
	// (RFC 5348, section 5.4 takes eight intervals).
	Memory float64
	// DeadAfter, in seconds without an answer, is when a peer counts as gone and its flows as uncontrolled.
	DeadAfter float64
}

// DefaultParameters are table V of paper 001 where it speaks.
func DefaultParameters() Parameters {
	return Parameters{
		A: 0.1, B: 0.1, Catch: 0.2, MinB: 0.001, MaxB: 0.49,
		MinWindow: 1, MaxWindow: 1 << 24, StartWindow: 100, Doubling: 0.5, Hold: 2, Smoothing: 4, Measure: 0.5, MaxPull: 4, Memory: 8, DeadAfter: 3,
	}
}

// Validate names the first parameter outside its range.
func (p Parameters) Validate() error {
	for _, c := range []struct {
		ok   bool
		text string
	}{
		{p.A > 0, "a must be above 0"},
		{p.B > 0 && p.B < 1, "b must lie between 0 and 1"},
		{p.MinB > 0 && p.MinB <= p.B && p.B <= p.MaxB && p.MaxB < 1, "b must lie between its bounds, and they between 0 and 1"},
		{p.MinWindow > 0 && p.MinWindow < p.MaxWindow, "the smallest window must be above 0 and below the largest"},
		{p.StartWindow > 0 && p.Doubling > 0, "starting window and doubling time must be above 0"},
		{p.Memory >= 1 && p.Smoothing > 0, "smoothing must be above 0, memory must be at least one loss event"},
		{p.DeadAfter > 0, "dead-after must be above 0"},
	} {
		if !c.ok {
			return fmt.Errorf("control law: %s", c.text)
		}
	}
	return nil
}

// Safe tells whether a and b are in the region the paper recommends (section III-A).
func (p Parameters) Safe() bool { return p.A < 1 && p.B < 0.5 }

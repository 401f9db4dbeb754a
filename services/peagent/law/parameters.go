package law

import (
	"fmt"
	"math"
)

// Parameters are the constants of the law, the same for all flows of a domain. Sources in brackets: 001 is paper 001,
// i2vfc is docs/explanation/i2vfc.md.
type Parameters struct {
	// A is the additive increase in packets per round-trip time. At 1 or more the law is as fast as the TCP inside it,
	// and both disturb each other. [001, table V and section III-A]
	A float64
	// B is the decrease factor of a flow that has the domain's reference price; those of other flows follow from it.
	// Below 0.5 for the same reason. [001, table V and section III-A]
	B float64
	// CatchUp is the share of its window by which a flow with half of the domain's normalised throughput grows per
	// round trip in addition to A, and in proportion where it lacks less. [i2vfc, κ]
	CatchUp float64
	// MinB and MaxB bound b of every flow. [MaxB: 001, section III-A; MinB: a thousandth still reacts to congestion]
	MinB, MaxB float64
	// MinWindow, in packets, is the lower bound of every window. It keeps management packets meaningful in the worst
	// congestion. [RFC 5681, section 3.1: a window of one segment after a loss]
	MinWindow float64
	// MaxWindow, in packets, is the upper bound: 2²⁴ packets of 1,500 octets are 100 Gbit/s over two seconds. [chosen
	// here]
	MaxWindow float64
	// StartRate, in packets per second and unit of weight, is the rate at which a flow starts while the domain's
	// normalised throughput is not known: 1.2 Mbit/s. [i2vfc, "Start"]
	StartRate float64
	// DoublingTime, in seconds, is the time in which slow start doubles the window. It is a time and not a round trip,
	// so that flows which start together stay in the ratio of their weights. [i2vfc, "Start"]
	DoublingTime float64
	// RateHold, in seconds, is how long after slow start the rate is held and not the window: meanwhile the round-trip
	// time grows from nothing to that of full queues, of which some flows cross more than others. [i2vfc, "Start"]
	RateHold float64
	// SmoothingRTTs is the number of round trips over which the round-trip time is averaged, where the control loop's
	// interval does not need more. [i2vfc, equation 3]
	SmoothingRTTs float64
	// AveragingTime, in seconds, is the time over which the sending rate is averaged. [i2vfc, equation 4]
	AveragingTime float64
	// MaxCorrection bounds the ratio of the domain's normalised throughput to a flow's, in both directions.
	// [i2vfc, equation 4]
	MaxCorrection float64
	// LossIntervals is the number of loss intervals over which the loss event rate is averaged. [RFC 5348, section 5.4]
	LossIntervals float64
	// PeerTimeout, in seconds without an answer, is when a peer counts as gone and its flows as not controlled.
	// [i2vfc, "Starting, changing, failing"]
	PeerTimeout float64
}

// DefaultParameters are table V of paper 001 where it speaks.
func DefaultParameters() Parameters {
	return Parameters{
		A: 0.1, B: 0.1, CatchUp: 0.2, MinB: 0.001, MaxB: 0.49,
		MinWindow: 1, MaxWindow: 1 << 24, StartRate: 100, DoublingTime: 0.5, RateHold: 2,
		SmoothingRTTs: 4, AveragingTime: 0.5, MaxCorrection: 4, LossIntervals: 8, PeerTimeout: 3,
	}
}

// Validate names the first parameter outside its range.
func (p Parameters) Validate() error {
	for _, c := range []struct {
		name  string
		value float64
		ok    bool
		must  string
	}{
		{"a", p.A, p.A > 0, "above 0"},
		{"b", p.B, p.B > 0 && p.B < 1, "between 0 and 1"},
		{"the catch-up share", p.CatchUp, p.CatchUp >= 0, "at least 0"},
		{"the lower bound of b", p.MinB, p.MinB > 0 && p.MinB <= p.B, "above 0 and at most b"},
		{"the upper bound of b", p.MaxB, p.MaxB >= p.B && p.MaxB < 1, "at least b and below 1"},
		{"the smallest window", p.MinWindow, p.MinWindow > 0, "above 0"},
		{"the largest window", p.MaxWindow, p.MaxWindow > p.MinWindow, "above the smallest"},
		{"the starting rate", p.StartRate, p.StartRate > 0, "above 0"},
		{"the doubling time", p.DoublingTime, p.DoublingTime > 0, "above 0"},
		{"the hold of the starting rate", p.RateHold, p.RateHold >= 0, "at least 0"},
		{"the smoothing of the round-trip time", p.SmoothingRTTs, p.SmoothingRTTs > 0, "above 0"},
		{"the averaging time of the sending rate", p.AveragingTime, p.AveragingTime > 0, "above 0"},
		{"the bound of the fairness correction", p.MaxCorrection, p.MaxCorrection >= 1, "at least 1"},
		{"the number of loss intervals", p.LossIntervals, p.LossIntervals >= 1, "at least 1"},
		{"the peer time-out", p.PeerTimeout, p.PeerTimeout > minTimeout, "above the time-out of one packet"},
	} {
		if !c.ok || math.IsInf(c.value, 0) {
			return fmt.Errorf("control law: %s is %g and must be finite and %s", c.name, c.value, c.must)
		}
	}
	return nil
}

// Safe reports whether a and b are in the region that the paper recommends (section III-A).
func (p Parameters) Safe() bool { return p.A < 1 && p.B < 0.5 }

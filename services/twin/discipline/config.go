// Package discipline is what a port does with packets that wait: queues with
// guarantees, priorities, ceilings and drop curves, and the policers before them.
//
// One order of service covers both papers' routers and the HTB of the router
// agent: queues within their guarantee first, by priority; then queues beyond
// it, by priority; ties by fair queueing (paper 004, section 4.1: high and
// positive, low and positive, high and negative, low and negative; paper 002,
// section III-A: in-profile by priority, and priority order again when all are
// out of profile). As in HTB, what is served beyond the guarantee is not charged
// to it.
//
// In: arrivals with queue, size and colour; the time. Out: what leaves next and
// what is dropped, counted by reason. Next: services/twin/engine, which sends it.
package discipline

import (
	"fmt"
	"math"
)

// Time is simulated picoseconds; at 10 Gbit/s a byte takes 800.
type Time = int64

// Second in Time.
const Second Time = 1e12

// MaxQueues is what the hardware of the papers has.
const MaxQueues = 8

// Excess is how queues of one priority share what others leave.
type Excess uint8

// The two ways.
const (
	Weighted Excess = iota // in proportion to their guarantees (Junos)
	Equal                  // alike (paper 004, section 4.1)
)

// Colours of packets, as loss priorities; Green is none given.
const (
	Green uint8 = iota
	Low
	MediumLow
	MediumHigh
	High
	Colours
)

// Curve is the drop probability by fill of the queue: none below Min, rising in
// a line to Probability at Max, certain above. All are fractions.
type Curve struct {
	Min, Max, Probability float64
	// Points, where above one, makes the line a staircase over that many fill levels from 0 to 1, as routers keep it:
	// Junos makes 64 of an interpolated drop profile ("Configuring RED Drop Profiles"), so that below a 63rd of the
	// buffer nothing is dropped.
	Points int
}

// Queue is one class of service of a port.
type Queue struct {
	Name string
	// Weight is the guaranteed fraction of the port's rate. Zero still gets MinimumRate.
	Weight float64
	// Max is the most of the port's rate the queue may use; zero: all of it.
	Max float64
	// Priority is the order of service; 0 first.
	Priority uint8
	// Limit is the buffer in bytes on the wire; zero: no limit.
	Limit int64
	// Curves by colour; nil: tail drop only. Green stands in for a colour without one.
	Curves [Colours]*Curve
}

// Config of a scheduled port.
type Config struct {
	// Rate of the line in bit/s.
	Rate   float64
	Queues []Queue
	Excess Excess
	// Burst is how much unused guarantee a queue can save up, in bytes. Default DefaultBurst.
	Burst float64
}

// DefaultBurst is eight full packets: short beside any buffer, long enough that
// no guarantee is lost while other queues have their turn.
const DefaultBurst = 12_000

// MinimumRate is what a queue of weight zero is guaranteed, bit/s: the least HTB
// can say, and about the one byte per round of paper 004, section 4.2.
const MinimumRate = 8_000

// Check says what is wrong with a configuration.
func (c Config) Check() error {
	if c.Rate <= 0 {
		return fmt.Errorf("the rate is %g bit/s: nothing would ever leave", c.Rate)
	}
	if len(c.Queues) == 0 || len(c.Queues) > MaxQueues {
		return fmt.Errorf("%d queues: a port has 1 to %d", len(c.Queues), MaxQueues)
	}
	sum := 0.0
	for _, q := range c.Queues {
		sum += q.Weight
		if q.Weight < 0 || q.Max < 0 || q.Max > 1 || q.Limit < 0 {
			return fmt.Errorf("queue %s: weight %g, max %g, limit %d: fractions of the rate and bytes, none negative", q.Name, q.Weight, q.Max, q.Limit)
		}
		for _, curve := range q.Curves {
			if curve != nil && (curve.Min < 0 || curve.Max < curve.Min || curve.Probability < 0 || curve.Probability > 1) {
				return fmt.Errorf("queue %s: drop curve from %g to %g with probability %g", q.Name, curve.Min, curve.Max, curve.Probability)
			}
			if curve != nil && q.Limit == 0 {
				return fmt.Errorf("queue %s: a drop curve is by fill, and the queue has no limit", q.Name)
			}
		}
	}
	if sum > 1+1e-9 {
		return fmt.Errorf("the weights add up to %.4g of the rate", sum)
	}
	return nil
}

// probability that a packet of this colour is dropped at this fill.
func (q *Queue) probability(colour uint8, fill float64) float64 {
	c := q.Curves[colour]
	if c == nil {
		c = q.Curves[Green]
	}
	if c != nil && c.Points > 1 && fill < 1 {
		steps := float64(c.Points - 1)
		fill = math.Floor(fill*steps) / steps
	}
	switch {
	case c == nil || fill <= c.Min && fill < c.Max:
		return 0
	case fill >= c.Max:
		return 1
	}
	return c.Probability * (fill - c.Min) / (c.Max - c.Min)
}

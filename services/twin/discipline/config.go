// Package discipline is what a port does with packets that wait: queues with
// guarantees, priorities, ceilings and queue disciplines, and the policers before
// them. Rates and shares of the excess are those of internal/shares, as on the
// router; the queue disciplines are in the table of drop.go.
//
// One order of service covers both papers' routers and the HTB of the router
// agent: queues within their guarantee first, by priority; then queues beyond
// it, by priority; equals by fair queueing (paper 004, section 4.1: high and
// positive, low and positive, high and negative, low and negative; paper 002,
// section III-A: in-profile by priority, and priority order again when all are
// out of profile). As in HTB, packets served beyond the guarantee are not charged
// to it.
//
// In: arrivals with queue, size and colour; the time. Out: the packet that leaves
// next, and the drops counted by reason. Next: services/twin/engine, which sends it.
//
// Mutation testing: 175 of 175 killed (docs/reference/mutants.md).
package discipline

import (
	"fmt"

	"github.com/millrace/millrace/internal/shares"
)

// Time is simulated picoseconds; at 10 Gbit/s a byte takes 800.
type Time = int64

// Second in Time.
const Second Time = 1e12

// MaxQueues of a port, as on the routers of the papers.
const MaxQueues = 8

// Colours of packets, as loss priorities; Green is none given.
const (
	Green uint8 = iota
	Low
	MediumLow
	MediumHigh
	High
	Colours
)

// Queue is one class of service of a port.
type Queue struct {
	Name string
	// Weight is the queue's part of the sum of the port's weights, which it is guaranteed of the rate.
	Weight uint64
	// Max is the most the queue may use.
	Max shares.Limit
	// Priority is the order of service; 0 first.
	Priority uint8
	// Limit is the buffer in bytes on the wire; zero: no limit.
	Limit int64
	// Discipline drops packets before the buffer is full; nil: none does.
	Discipline Discipline
}

// Config of a scheduled port.
type Config struct {
	// Rate of the port in bit/s.
	Rate   float64
	Queues []Queue
	Excess shares.Excess
	// Burst is how much unused guarantee a queue can save up, in bytes. Default DefaultBurst.
	Burst float64
}

// DefaultBurst is eight full packets: short beside any buffer, long enough that
// no guarantee is lost while other queues have their turn.
const DefaultBurst = 12_000

// Classes are the rates, ceilings, quanta and priorities of the queues: those of HTB on the router.
func (c Config) Classes() []shares.Class {
	queues := make([]shares.Queue, len(c.Queues))
	for i, q := range c.Queues {
		queues[i] = shares.Queue{Weight: q.Weight, Priority: int(q.Priority), Max: q.Max}
	}
	return shares.Classes(queues, uint64(c.Rate), c.Excess)
}

// Check reports what is wrong with a configuration.
func (c Config) Check() error {
	if c.Rate <= 0 {
		return fmt.Errorf("the rate is %g bit/s: nothing would ever leave", c.Rate)
	}
	if len(c.Queues) == 0 || len(c.Queues) > MaxQueues {
		return fmt.Errorf("%d queues: a port has 1 to %d", len(c.Queues), MaxQueues)
	}
	for _, q := range c.Queues {
		if q.Weight > shares.MaxWeight || q.Max.Percent > 100 || q.Limit < 0 {
			return fmt.Errorf("queue %s: weight %d, at most %d %% of the rate, buffer of %d bytes: a weight is at most %d, a part at most 100 %%, a buffer not negative",
				q.Name, q.Weight, q.Max.Percent, q.Limit, shares.MaxWeight)
		}
		if q.Discipline == nil {
			continue
		}
		if q.Limit == 0 {
			return fmt.Errorf("queue %s: it drops by the occupancy of its buffer, and the buffer has no limit", q.Name)
		}
		if err := q.Discipline.check(); err != nil {
			return fmt.Errorf("queue %s: %w", q.Name, err)
		}
	}
	return nil
}

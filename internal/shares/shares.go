// Package shares turns the weights, priorities and limits of a port's queues
// into HTB's rates, ceilings, quanta and priorities.
//
// In: the queues of one port, the port speed and the excess mode. Out: one Class
// per queue. Next: the kernel, an operator's eyes, or the simulator, for this is
// the only place that computes them:
//
//	services/policy/document/document.go         weight: percent of the port speed, as the operator writes it
//	services/policy/compile/plan.go              RouterPlan.Queues: the same percent, for each router
//	services/policy/render/openconfig/queues.go  scheduler input weight, te-qos-ext:priority-level, shaper cir-pct
//	services/routeragent/intent/schedulers.go    reads them back out of the configuration tree
//	internal/shares/shares.go                    Classes: rate = port speed * weight / sum of weights, and the rest
//	services/routeragent/intent/ports.go         one kernel.Queue for each class
//	services/routeragent/kernel/htb.go           one HTB class for each queue, over rtnetlink
//
// services/policy/render/linux/classes.go shows the same classes to an operator
// before a commit, and services/twin/discipline/config.go schedules by them in
// the simulator. Vendors' routers take the weights as they are
// (services/policy/render/junos/cos.go).
//
// Mutation testing: 43 of 47 killed (docs/reference/mutants.md).
package shares

import (
	"cmp"
	"math"
	"math/bits"
)

// Excess is how queues of one priority share the rate that other queues leave.
type Excess uint8

const (
	// Weighted shares in proportion to the weights (Junos; OpenConfig's default).
	Weighted Excess = iota
	// Equal shares alike, whatever the weights (paper 004, section 4.1).
	Equal
)

// Queue is the scheduler's configuration of one queue of a port.
type Queue struct {
	// Weight is the queue's part of the sum of the port's weights; at most MaxWeight.
	Weight uint64
	// Priority orders service, lowest first. It need not be dense.
	Priority int
	// Strict is OpenConfig's priority STRICT: the queue goes before the others of
	// its Priority, and no queue of the port has a guarantee. Strict queues go by
	// Weight among themselves, highest first.
	Strict bool
	// Max is the most the queue may use.
	Max Limit
}

// Limit is a rate in bit/s, or a percentage of the port speed; zero is no limit.
type Limit struct{ Rate, Percent uint64 }

// Class is a leaf class of HTB.
type Class struct {
	// Rate is guaranteed, bit/s.
	Rate uint64
	// Ceil is the most the queue may use, bit/s; the port speed where there is no limit.
	Ceil uint64
	// Quantum is the queue's share of the excess, bytes per round of deficit round robin.
	Quantum uint32
	// Priority numbers the order of service from 0, without gaps.
	Priority int
}

const (
	// MinRate is what a queue of weight 0 is guaranteed, bit/s. HTB takes no
	// rate of 0, and paper 004, section 4.2, gives such a queue one byte per round.
	MinRate = 8000
	// MinQuantum is one full Ethernet frame, bytes. A smaller quantum
	// lets HTB's deficit of the queue grow without bound.
	MinQuantum = 1514
	// MaxRound is the most bytes of one round of all queues; longer rounds mean longer waits.
	MaxRound = 200_000
	// MaxWeight keeps every sum and product of weights far from overflow.
	MaxWeight = 1_000_000
)

// Classes are the classes of a port's queues, in the order of the queues.
func Classes(queues []Queue, speed uint64, excess Excess) []Class {
	sum, least, strict := weights(queues)
	out := make([]Class, len(queues))
	for i, p := range Priorities(queues) {
		q := queues[i]
		c := Class{Rate: MinRate, Ceil: q.Max.Of(speed), Quantum: MinQuantum, Priority: p}
		if !strict {
			c.Rate = max(Scale(speed, q.Weight, max(sum, 1)), MinRate)
		}
		c.Rate = min(c.Rate, c.Ceil)
		if excess == Weighted && !q.Strict {
			c.Quantum = quantum(q.Weight, least, sum)
		}
		out[i] = c
	}
	return out
}

// weights are the sum of the weights of queues that are not strict, and the
// least of them above zero. The weights of strict queues are only an order.
func weights(queues []Queue) (sum, least uint64, strict bool) {
	for _, q := range queues {
		if q.Strict {
			strict = true
			continue
		}
		sum += q.Weight
		if q.Weight > 0 && (least == 0 || q.Weight < least) {
			least = q.Weight
		}
	}
	return sum, least, strict
}

// Compare orders queues by their service.
func Compare(a, b Queue) int {
	switch {
	case a.Priority != b.Priority:
		return cmp.Compare(a.Priority, b.Priority)
	case a.Strict && b.Strict:
		return cmp.Compare(b.Weight, a.Weight)
	case a.Strict:
		return -1
	case b.Strict:
		return 1
	}
	return 0
}

// Of is the limit on a port, never above its speed.
func (l Limit) Of(speed uint64) uint64 {
	switch {
	case l.Percent > 0:
		return min(Scale(speed, l.Percent, 100), speed)
	case l.Rate > 0:
		return min(l.Rate, speed)
	}
	return speed
}

// Guarantee is what a weight, percent, guarantees of a port's speed, bit/s.
func Guarantee(speed, weight uint64) uint64 { return Scale(speed, weight, 100) }

// SpeedFor is the least speed of which a weight, percent, guarantees so much, bit/s.
func SpeedFor(guarantee, weight uint64) uint64 {
	high, low := bits.Mul64(guarantee, 100)
	low, carry := bits.Add64(low, weight-1, 0)
	if high += carry; high >= weight {
		return math.MaxInt64
	}
	speed, _ := bits.Div64(high, low, weight)
	return min(speed, math.MaxInt64)
}

// Scale is n*part/whole without overflow for port speeds and buffers.
func Scale(n, part, whole uint64) uint64 { return n/whole*part + n%whole*part/whole }

// quantum is MinQuantum for the least weight and in proportion above it, as long as a round stays within MaxRound.
func quantum(weight, least, sum uint64) uint32 {
	if weight == 0 {
		return MinQuantum
	}
	if MinQuantum*sum/least > MaxRound {
		return uint32(max(MaxRound*weight/sum, MinQuantum))
	}
	return uint32(MinQuantum * weight / least)
}

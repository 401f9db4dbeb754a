// Package fluid is a port with the queues alpha and beta as two liquids: what comes in a step is served by shares,
// waits in its own buffer, or is lost. It is what paper 002's table VII follows from, without packets: the law of
// internal/split is held against it over days, which no simulator of packets can do at 10 Gbit/s.
//
// In: a Port and what both classes offer for a while. Out: what they got, what was lost, how long beta's last drop
// waited. Next: tests of internal/split.
package fluid

import "time"

// Port is one with its buffers' fill, in bits.
type Port struct {
	// Capacity in bit/s; Buffer is how long it takes to send the whole buffer.
	Capacity float64
	Buffer   time.Duration
	// Share is what beta is guaranteed of both, percent.
	Share int
	// Strict: no queue uses more than its share.
	Strict      bool
	alpha, beta float64
}

// Got is what a step came to, in bits but for Delay.
type Got struct {
	AlphaSent, AlphaLost, BetaSent, BetaLost float64
	// Delay is how long beta's queue needs for what it holds at the end, at what it is guaranteed.
	Delay time.Duration
}

// Offer passes what both classes send at constant rates for a while. Alpha with a rate of Capacity or more is TCP with
// a window that always suffices: it sends what it gets, and loses nothing.
func (p *Port) Offer(alpha, beta float64, long time.Duration) Got {
	t := long.Seconds()
	greedy := alpha >= p.Capacity
	share := float64(p.Share) / 100
	room := p.Capacity * t
	a, b := p.alpha+alpha*t, p.beta+beta*t
	if greedy {
		a = room
	}
	sentA, sentB := min(a, room*(1-share)), min(b, room*share)
	if !p.Strict {
		sentB += min(b-sentB, room-sentA-sentB)
		sentA += min(a-sentA, room-sentA-sentB)
	}
	g := Got{AlphaSent: sentA, BetaSent: sentB}
	whole := p.Capacity * p.Buffer.Seconds()
	if !greedy {
		p.alpha, g.AlphaLost = keep(a-sentA, whole*(1-share))
	}
	p.beta, g.BetaLost = keep(b-sentB, whole*share)
	g.Delay = time.Duration(p.beta / (share * p.Capacity) * float64(time.Second))
	return g
}

// keep is what fits into a buffer, and what does not.
func keep(left, buffer float64) (kept, lost float64) {
	return min(left, buffer), max(left-buffer, 0)
}

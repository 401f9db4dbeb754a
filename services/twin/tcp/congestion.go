package tcp

import "math"

// Algorithm is how the window grows and how far it falls.
type Algorithm uint8

// The algorithms.
const (
	// Reno is RFC 5681's additive increase and halving.
	Reno Algorithm = iota
	// HTCP is draft-leith-tcp-htcp-06 with adaptive backoff and RTT scaling, as Linux has it.
	HTCP
	// Cubic is RFC 9438.
	Cubic
)

// congestion is the part of a sender that the algorithms differ in. Windows are in segments, times in seconds.
type congestion struct {
	algorithm Algorithm
	// htcp
	lastLoss       float64
	minRTT, maxRTT float64
	beta           float64
	lastRate       float64 // segments/s in the epoch before, for the bandwidth switch
	ackedSinceLoss float64
	// cubic
	wMax, k, epoch, wEst float64
	origin               float64
	inEpoch              bool
}

func newCongestion(a Algorithm) congestion {
	return congestion{algorithm: a, beta: 0.5}
}

// sample feeds a round-trip time.
func (c *congestion) sample(rtt float64) {
	if c.minRTT == 0 || rtt < c.minRTT {
		c.minRTT = rtt
	}
	c.maxRTT = max(c.maxRTT, rtt)
}

// increase is what an acknowledgement of some segments adds to the window in congestion avoidance.
func (c *congestion) increase(now, cwnd, srtt, acked float64) float64 {
	c.ackedSinceLoss += acked
	switch c.algorithm {
	case HTCP:
		return c.htcpAlpha(now) / cwnd * acked
	case Cubic:
		return c.cubicIncrease(now, cwnd, srtt, acked)
	}
	return 1 / cwnd
}

// htcpAlpha is section 3.1 of the draft: alpha grows with the time since the last loss, is scaled by
// the RTT to a reference of 100 ms within [0.5, 10], and by 2(1-beta) for friendliness.
func (c *congestion) htcpAlpha(now float64) float64 {
	factor := 1.0
	if d := now - c.lastLoss - 1; d > 0 {
		factor = 1 + 10*d + d*d/4
	}
	if c.minRTT > 0 {
		factor = max(factor/min(max(0.1/c.minRTT, 0.5), 10), 1)
	}
	return max(2*(1-c.beta)*factor, 1)
}

// cubicIncrease follows RFC 9438, sections 4.2 to 4.5, with C = 0.4 and beta = 0.7.
func (c *congestion) cubicIncrease(now, cwnd, srtt, acked float64) float64 {
	const scale, beta = 0.4, 0.7
	if !c.inEpoch {
		c.inEpoch, c.epoch, c.wEst = true, now, cwnd
		c.origin = max(c.wMax, cwnd)
		c.k = math.Cbrt((c.origin - cwnd) / scale)
	}
	t := now - c.epoch + srtt
	target := c.origin + scale*math.Pow(t-c.k, 3)
	target = min(max(target, cwnd), 1.5*cwnd)
	alpha := 3 * (1 - beta) / (1 + beta)
	if c.wEst >= c.wMax {
		alpha = 1
	}
	c.wEst += alpha / cwnd * acked
	if c.wEst > target {
		return max(c.wEst-cwnd, 0)
	}
	return (target - cwnd) / cwnd * acked
}

// loss returns the factor by which the window is multiplied, and begins a new epoch.
func (c *congestion) loss(now, cwnd float64) float64 {
	switch c.algorithm {
	case HTCP:
		return c.htcpLoss(now)
	case Cubic:
		const beta = 0.7
		c.inEpoch = false
		if cwnd < c.wMax {
			c.wMax = cwnd * (1 + beta) / 2 // fast convergence, section 4.7
		} else {
			c.wMax = cwnd
		}
		return beta
	}
	return 0.5
}

// htcpLoss is adaptive backoff (section 3.2): beta = RTTmin/RTTmax within [0.5, 0.8], and 0.5 when the
// throughput of the epoch differs by more than 20 % from the one before.
func (c *congestion) htcpLoss(now float64) float64 {
	rate := 0.0
	if d := now - c.lastLoss; d > 0 {
		rate = c.ackedSinceLoss / d
	}
	c.beta = 0.5
	if c.lastRate > 0 && math.Abs(rate-c.lastRate) <= 0.2*c.lastRate && c.maxRTT > 0 {
		c.beta = min(max(c.minRTT/c.maxRTT, 0.5), 0.8)
	}
	c.lastRate, c.ackedSinceLoss, c.lastLoss = rate, 0, now
	c.maxRTT = c.minRTT + (c.maxRTT-c.minRTT)*0.95
	return c.beta
}

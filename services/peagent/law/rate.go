package law

const (
	// sampleGain is the share of the distance between SRTT and the latest sample by which the sample moves the rate.
	// One half is stable while feedback is at most π round trips old; the whole distance only up to π/2
	// (docs/explanation/i2vfc.md, equation 3; the same idea as RFC 5348, section 4.5).
	sampleGain = 0.5
	// maxSampleRatio bounds how far a sample counts: between 1/maxSampleRatio and maxSampleRatio times SRTT
	// (docs/explanation/i2vfc.md, equation 3).
	maxSampleRatio = 2
	// minQueue is the queue, in packets, that a flow always gets: with less, a few TCP connections inside it stop
	// altogether. Chosen here (docs/explanation/i2vfc.md, "A rate is not a window").
	minQueue = 16
	// distantRatio: where the minimum RTT is at least this share of SRTT, the queue is not shortened. Chosen here
	// (docs/explanation/i2vfc.md, "A rate is not a window").
	distantRatio = 1. / 2
)

// Rate is the allowed sending rate W/R in packets per second; 0 means no limit.
//
// A true window reacts to a queue by itself, because packets leave as acknowledgements come. A rate follows a
// measured round-trip time that is already old. With the latest sample as R, rate and queue oscillate; with a smoothed
// R they oscillate even more. So the latest sample moves R by sampleGain of its distance from a slow mean, and by less
// where the control loop makes the feedback older still.
func (f *Flow) Rate() float64 {
	if f.Phase == NoFeedback || f.SRTT <= 0 {
		return 0
	}
	if f.rateHeld {
		return f.Window / f.SRTT
	}
	deviation := min(max(f.lastRTT, f.SRTT/maxSampleRatio), maxSampleRatio*f.SRTT) - f.SRTT
	return f.Window / (f.SRTT + sampleGain*deviation*f.SRTT/(f.SRTT+f.controlDelay))
}

// QueueLimit bounds, in seconds, the queue of packets that have departure times; limit is the configured bound in
// packets. Such packets leave too late for the next change of the rate. Where the round-trip time is mostly queue,
// which reacts to the rate, they may wait no longer than a round trip, or rate and queue oscillate. Propagation delay
// does not react to the rate: where it is half of the round trip, the whole queue may be used, which many connections
// need whose windows are a packet or two.
func (f *Flow) QueueLimit(rate, limit float64) float64 {
	if f.rateHeld || f.Phase != CongestionAvoidance || f.minRTT > f.SRTT*distantRatio {
		return limit / rate
	}
	return min(max(f.SRTT, minQueue/rate), limit/rate)
}

// updateSendRate averages the sending rate over Parameters.AveragingTime, or over SmoothingRTTs round trips if longer.
func (f *Flow) updateSendRate(p *Parameters, sent, elapsed float64) {
	if elapsed > 0 {
		f.sendRate += (sent/elapsed - f.sendRate) * elapsed / (elapsed + max(p.AveragingTime, p.SmoothingRTTs*f.SRTT))
	}
}

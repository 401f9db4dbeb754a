package tcp

import (
	"math"
	"testing"
)

// fed plays a congestion avoidance of whole round trips: an acknowledgement per segment, evenly over the round trip,
// and returns the window at each multiple of every.
func fed(c *congestion, cwnd, rtt, seconds, every float64) []float64 {
	var out []float64
	next := 0.0
	for now := 0.0; now <= seconds; now += rtt / cwnd {
		if now >= next {
			out = append(out, cwnd)
			next += every
		}
		cwnd += c.increase(now, cwnd, rtt, 1)
	}
	return out
}

// RFC 9438, equation 1: W(t) = C (t-K)^3 + Wmax with K = cbrt((Wmax - cwnd)/C), reached a round trip later than asked
// for, since the target is the window one round trip ahead.
func TestCubicKeepsItsCurve(t *testing.T) {
	const rtt, top = 0.1, 1000.0
	c := newCongestion(Cubic)
	cwnd := top * c.loss(0, top)
	if cwnd != 700 || c.wMax != top {
		t.Fatalf("after a loss at %g the window is %g and Wmax %g; want 700 and 1000", top, cwnd, c.wMax)
	}
	k := math.Cbrt((top - cwnd) / 0.4)
	for i, got := range fed(&c, cwnd, rtt, 16, 1) {
		at := float64(i)
		want := top + 0.4*math.Pow(at-k, 3)
		if math.Abs(got/want-1) > 0.01 {
			t.Errorf("after %g s: window %.1f, the curve says %.1f", at, got, want)
		}
	}
	if k < 9 || k > 9.1 {
		t.Errorf("the plateau is at %g s, want cbrt(750) = 9.09", k)
	}
}

// RFC 9438, section 4.3: where its own curve is slower than Reno's, CUBIC grows by 3(1-b)/(1+b) = 9/17 of a segment
// per round trip until the old maximum, and by one from there on.
func TestCubicIsNoSlowerThanReno(t *testing.T) {
	const rtt, top = 0.01, 20.0
	c := newCongestion(Cubic)
	w := fed(&c, top*c.loss(0, top), rtt, 0.3, rtt)
	for i := 1; i < len(w); i++ {
		step, want := w[i]-w[i-1], 9./17
		if w[i-1] >= top {
			want = 1
		}
		if w[i-1] < top && w[i] > top {
			continue // both in one round trip
		}
		// Within a round trip the window grows, so that an acknowledgement more comes every now and then.
		if math.Abs(step/want-1) > 0.12 {
			t.Errorf("round trip %d, window %.2f: grew by %.3f, want %.3f", i, w[i], step, want)
		}
	}
}

// RFC 9438, section 4.7: a loss below the old maximum leaves room for other flows.
func TestCubicConvergesFast(t *testing.T) {
	c := newCongestion(Cubic)
	c.loss(0, 1000)
	c.loss(1, 800)
	if want := 800 * 1.7 / 2; c.wMax != want {
		t.Errorf("Wmax %g after a loss at 800 of 1000, want %g", c.wMax, want)
	}
	c.loss(2, 900)
	if c.wMax != 900 {
		t.Errorf("Wmax %g after a loss at 900 of %g, want 900", c.wMax, 680.)
	}
}

// draft-leith-tcp-htcp-06, section 3.1: in the first second Reno's, then alpha(d) = 1 + 10 d + (d/2)^2 per
// round trip, whose integral is the window; times 2(1-beta), and over the round trip's ratio to 100 ms.
func TestHTCPGrowsAsItsDraftSays(t *testing.T) {
	const rtt = 0.1
	c := newCongestion(HTCP)
	c.minRTT = rtt
	for i, got := range fed(&c, 1000, rtt, 10, 1) {
		at := float64(i)
		d := max(at-1, 0)
		want := 1000 + (at+5*d*d+d*d*d/12)/rtt
		if math.Abs(got-want) > 0.01*(want-1000)+2 {
			t.Errorf("after %g s: window %.1f, the integral of alpha says %.1f", at, got, want)
		}
	}
	// The ratio to 100 ms is kept within [0.1, 2], as Linux does.
	for _, v := range []struct{ rtt, beta, alpha float64 }{
		{0.1, 0.5, 11.25}, {0.1, 0.8, 4.5}, {0.2, 0.5, 22.5}, {0.05, 0.5, 5.625}, {0.01, 0.5, 1.125}, {0.001, 0.5, 1.125}, {1, 0.5, 22.5},
	} {
		c.minRTT, c.beta = v.rtt, v.beta
		if got := c.htcpAlpha(2); math.Abs(got-v.alpha) > 1e-9 {
			t.Errorf("round trip %g s, beta %g: alpha %g one second beyond the threshold, want %g", v.rtt, v.beta, got, v.alpha)
		}
	}
}

// Section 3.2 of the draft: back to RTTmin/RTTmax within [0.5, 0.8], and to a half when throughput has changed by more
// than a fifth.
func TestHTCPBacksOffByTheBuffer(t *testing.T) {
	for _, v := range []struct {
		name          string
		min, max      float64
		before, acked float64 // segments/s in the epoch before, segments in this one of ten seconds
		want          float64
	}{
		{"the first loss", 0.1, 0.11, 0, 1000, 0.5},
		{"a small buffer", 0.1, 0.11, 100, 1000, 0.8},
		{"a buffer of a third of the pipe", 0.09, 0.12, 100, 1000, 0.75},
		{"a large buffer", 0.1, 0.3, 100, 1000, 0.5},
		{"throughput rose by a fifth", 0.09, 0.12, 100, 1200, 0.75},
		{"throughput rose by more", 0.09, 0.12, 100, 1210, 0.5},
		{"throughput fell by more", 0.09, 0.12, 100, 790, 0.5},
	} {
		t.Run(v.name, func(t *testing.T) {
			c := newCongestion(HTCP)
			c.minRTT, c.maxRTT, c.lastRate, c.ackedSinceLoss = v.min, v.max, v.before, v.acked
			if got := c.loss(10, 50); math.Abs(got-v.want) > 1e-9 {
				t.Errorf("backed off to %g, want %g", got, v.want)
			}
		})
	}
}

// RFC 6298, section 2, worked by hand in milliseconds: RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|, then
// SRTT = 7/8 SRTT + 1/8 R, and the timer is SRTT + 4 RTTVAR, at least the minimum, at most 60 s.
func TestTheTimerIsThatOfRFC6298(t *testing.T) {
	const ms = Time(second / 1000)
	e := estimator{rto: second, minimum: 200 * ms}
	for _, step := range []struct {
		sample            Time
		srtt, rttvar, rto float64
	}{
		{100, 100, 50, 300},
		{100, 100, 37.5, 250},
		{180, 110, 48.125, 302.5},
		{110, 110, 36.09375, 254.375},
		{110, 110, 27.0703125, 218.28125},
		{110, 110, 20.302734375, 200}, // 191.2: the minimum holds
	} {
		e.sample(step.sample * ms)
		for what, v := range map[string][2]float64{
			"SRTT": {e.srtt, step.srtt}, "RTTVAR": {e.rttvar, step.rttvar}, "RTO": {float64(e.rto), step.rto},
		} {
			if math.Abs(v[0]/float64(ms)-v[1]) > 1e-6 {
				t.Errorf("after a sample of %d ms: %s %.4f ms, want %.4f", step.sample, what, v[0]/float64(ms), v[1])
			}
		}
	}
	for _, want := range []Time{400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000} {
		if e.backOff(); e.rto != want*ms {
			t.Errorf("backed off to %d ms, want %d", e.rto/ms, want)
		}
	}
}

// Section 5: doubled at each expiry, and computed again from the next segment that is acknowledged.
func TestTheTimerDoublesUntilSomethingArrives(t *testing.T) {
	s := NewSender(Config{Initial: 1})
	s.Next(0)
	for _, want := range []Time{1, 3, 7, 15, 31} {
		if s.Deadline != want*second {
			t.Fatalf("the timer runs out at %g s, want %d", float64(s.Deadline)/second, want)
		}
		now := s.Deadline
		s.Expire(now)
		if seq, again, ok := s.Next(now); !ok || seq != 0 || !again {
			t.Fatalf("the expiry sends segment 0 again, not %d (%t, %t)", seq, again, ok)
		}
	}
	now := Time(32 * second)
	s.Ack(now, 1, 0, 0, second/10)
	s.Next(now)
	if got := s.Deadline - now; got != second {
		t.Errorf("after an answer the timer is %g s, want the minimum of one", float64(got)/second)
	}
}

package tcp

import (
	"math"
	"testing"
)

// pipe is the simplest network there is: a fixed delay, a segment per tick, and losses by number of transmission.
type pipe struct {
	s    *Sender
	r    *Receiver
	tick Time
	rtt  int // ticks
	drop func(seq int64, transmission int) bool

	sent map[int64]int
	acks map[int][]ackInFlight
	now  int
}

type ackInFlight struct {
	ack, low, high int64
	sent           int
}

func newPipe(c Config, p Policy, drop func(int64, int) bool) *pipe {
	return &pipe{s: NewSender(c), r: NewReceiver(p, second/5, 70000), tick: second / 1000, rtt: 20, drop: drop, sent: map[int64]int{}, acks: map[int][]ackInFlight{}}
}

// run plays ticks; in each the sender may send up to rate segments.
func (p *pipe) run(ticks, rate int) {
	for end := p.now + ticks; p.now < end; p.now++ {
		now := Time(p.now) * p.tick
		for _, a := range p.acks[p.now] {
			p.s.Ack(now, a.ack, a.low, a.high, Time(p.now-a.sent)*p.tick)
		}
		delete(p.acks, p.now)
		if now >= p.r.Deadline && p.r.Expire() {
			p.ack(p.now)
		}
		if now >= p.s.Deadline {
			p.s.Expire(now)
		}
		for range rate {
			seq, again, ok := p.s.Next(now)
			if !ok {
				break
			}
			p.sent[seq]++
			if !p.drop(seq, p.sent[seq]) && p.r.Segment(now+Time(p.rtt/2)*p.tick, seq, again) {
				p.ack(p.now)
			}
		}
	}
}

func (p *pipe) ack(sent int) {
	low, high := p.r.Block()
	at := p.now + p.rtt
	p.acks[at] = append(p.acks[at], ackInFlight{p.r.Next(), low, high, sent})
}

func never(int64, int) bool { return false }

func TestSlowStartDoublesEveryRoundTrip(t *testing.T) {
	p := newPipe(Config{Initial: 1}, Immediate, never)
	p.run(1, 100)
	for round, want := range []float64{1, 2, 4, 8, 16} {
		if got := p.s.Congestion(); got != want {
			t.Fatalf("round %d: window %g, want %g", round, got, want)
		}
		p.run(20, 100)
	}
}

func TestDelayedAcksSlowTheStart(t *testing.T) {
	fast, slow := newPipe(Config{}, Immediate, never), newPipe(Config{}, Delayed, never)
	fast.run(100, 1000)
	slow.run(100, 1000)
	if f, s := fast.s.Congestion(), slow.s.Congestion(); s > 0.5*f {
		t.Errorf("window %g with delayed acknowledgements, %g without: RFC 5681 grows per acknowledgement", s, f)
	}
}

func TestOneLossIsRepairedWithoutATimeout(t *testing.T) {
	for name, c := range map[string]Config{
		"NewReno": {}, "SACK": {SACK: true}, "H-TCP": {SACK: true, Algorithm: HTCP}, "CUBIC": {SACK: true, Algorithm: Cubic},
		"NewReno, threshold 9": {Threshold: 9},
	} {
		t.Run(name, func(t *testing.T) {
			c.Segments, c.Window = 2000, 200
			p := newPipe(c, Immediate, func(seq int64, n int) bool { return seq == 150 && n == 1 })
			p.run(2000, 20)
			if !p.s.Done() || p.s.Retransmissions != 1 || p.s.Reductions != 1 || p.s.Timeouts != 0 {
				t.Errorf("done %t, %d retransmissions, %d reductions, %d timeouts; want one, one, none",
					p.s.Done(), p.s.Retransmissions, p.s.Reductions, p.s.Timeouts)
			}
		})
	}
}

func TestManyLossesOfOneWindow(t *testing.T) {
	drop := func(seq int64, n int) bool { return seq >= 100 && seq < 200 && seq%3 == 0 && n == 1 }
	for name, c := range map[string]Config{"NewReno": {}, "SACK": {SACK: true}} {
		t.Run(name, func(t *testing.T) {
			c.Segments, c.Window = 3000, 500
			p := newPipe(c, Immediate, drop)
			p.run(6000, 30)
			if !p.s.Done() || p.s.Timeouts != 0 || p.s.Retransmissions != 33 {
				t.Errorf("done %t, %d retransmissions for 33 losses, %d timeouts", p.s.Done(), p.s.Retransmissions, p.s.Timeouts)
			}
		})
	}
}

func TestALostTailWaitsForTheTimer(t *testing.T) {
	for name, c := range map[string]Config{"NewReno": {}, "SACK": {SACK: true}} {
		t.Run(name, func(t *testing.T) {
			c.Segments = 50
			p := newPipe(c, Immediate, func(seq int64, n int) bool { return seq >= 48 && n == 1 })
			p.run(5000, 30)
			if !p.s.Done() || p.s.Timeouts != 1 {
				t.Errorf("done %t, %d timeouts, want one", p.s.Done(), p.s.Timeouts)
			}
		})
	}
}

// Every pattern of losses ends with everything delivered: the property that matters most.
func TestEverythingArrivesWhateverIsLost(t *testing.T) {
	for seed := range int64(12) {
		for _, policy := range []Policy{Immediate, Delayed, Modified} {
			for _, c := range []Config{{}, {Threshold: 6}, {NS2: true}, {NS2: true, Threshold: 6}, {SACK: true}, {SACK: true, Algorithm: HTCP, Threshold: 6}, {SACK: true, Algorithm: Cubic}} {
				c.Segments, c.Window = 300, 60
				drop := func(seq int64, n int) bool {
					x := uint64(seq*2654435761+int64(n)*40503+seed*97) * 0x9e3779b97f4a7c15
					return x>>56 < 25 // a tenth
				}
				p := newPipe(c, policy, drop)
				p.run(800_000, 30)
				if !p.s.Done() || p.r.Next() != 300 {
					t.Fatalf("seed %d, policy %d, %+v: stopped at %d of 300", seed, policy, c, p.s.Una())
				}
			}
		}
	}
}

func TestReceiverRules(t *testing.T) {
	type step struct {
		seq   int64
		again bool
		acks  bool
	}
	for _, c := range []struct {
		name   string
		policy Policy
		steps  []step
	}{
		{"immediate acknowledges all", Immediate, []step{{0, false, true}, {2, false, true}, {1, false, true}}},
		{"delayed waits for the second", Delayed, []step{{0, false, false}, {1, false, true}, {2, false, false}}},
		{"delayed does not wait out of order, nor when a gap closes", Delayed, []step{{1, false, true}, {2, false, true}, {0, false, true}}},
		{"modified delays out of order too (rule 1)", Modified, []step{{1, false, false}, {2, false, true}, {4, false, false}, {3, false, true}}},
		{"modified answers a retransmission at once (rule 2)", Modified, []step{{1, false, false}, {2, false, true}, {0, true, true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReceiver(c.policy, second/5, 100)
			for i, s := range c.steps {
				if got := r.Segment(0, s.seq, s.again); got != s.acks {
					t.Errorf("step %d, segment %d: acknowledged %t", i+1, s.seq, got)
				}
			}
		})
	}
}

func TestHTCPGrowsWithTheTimeSinceTheLastLoss(t *testing.T) {
	c := newCongestion(HTCP)
	c.minRTT = 0.1
	for _, v := range []struct{ seconds, alpha float64 }{{0.5, 1}, {1, 1}, {2, 11.25}, {11, 126}} {
		if got := c.htcpAlpha(v.seconds); math.Abs(got-v.alpha) > 1e-9 {
			t.Errorf("alpha %g after %g s, want %g (1 + 10 d + d^2/4 with d beyond one second)", got, v.seconds, v.alpha)
		}
	}
}

func TestLateArrivalsAreThoseOvertaken(t *testing.T) {
	r := NewReceiver(Immediate, second, 16)
	for _, seq := range []int64{0, 2, 3, 1, 4} {
		r.Segment(0, seq, false)
	}
	if r.Late != 1 || r.OutOfOrder != 2 {
		t.Errorf("%d late and %d not as expected; only 1 was overtaken, and 2 and 3 were not what was expected", r.Late, r.OutOfOrder)
	}
}

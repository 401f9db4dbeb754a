package split

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/split/fluid"
)

const (
	line  = 10e9
	every = 30 * time.Second
)

var midnight = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)

// offer is what both classes offer at a time, bit/s.
type offer func(at time.Duration) (alpha, beta float64)

// move is a share that came into force.
type move struct {
	at       time.Duration
	from, to int
	rule     Rule
}

// outcome is what a run of the loop came to.
type outcome struct {
	moves             []move
	lost, sent, alpha float64 // bits
	delay             time.Duration
	shares            []int // by sample
	lostBy            []float64
}

// loop closes the law over the fluid port: every sample is what the step before brought. A move is in force at the next
// sample.
func loop(l Law, share int, strict bool, long time.Duration, load offer) outcome {
	p := fluid.Port{Capacity: line, Buffer: 100 * time.Millisecond, Share: share, Strict: strict}
	s, out := State{Share: share}, outcome{}
	for at := time.Duration(0); at < long; at += every {
		a, b := load(at)
		g := p.Offer(a, b, every)
		out.add(g)
		out.shares = append(out.shares, s.Share)
		rate := func(bits float64) float64 { return bits / every.Seconds() }
		now := midnight.Add(at + every)
		next, d := l.Decide(s, Sample{
			At: now, Capacity: line,
			Alpha: Load{Sent: rate(g.AlphaSent), Dropped: rate(g.AlphaLost)}, Beta: Load{Sent: rate(g.BetaSent), Dropped: rate(g.BetaLost)},
		})
		if s = next; d.Moves() {
			out.moves = append(out.moves, move{at + every, s.Share, d.Share, d.Rule})
			s = l.Applied(s, d, now)
			p.Share = s.Share
		}
	}
	return out
}

func (o *outcome) add(g fluid.Got) {
	o.lost += g.BetaLost
	o.sent += g.BetaSent
	o.alpha += g.AlphaSent
	o.delay = max(o.delay, g.Delay)
	o.lostBy = append(o.lostBy, g.BetaLost)
}

// fixed is the same port without a loop.
func fixed(share int, strict bool, long time.Duration, load offer) (out outcome) {
	p := fluid.Port{Capacity: line, Buffer: 100 * time.Millisecond, Share: share, Strict: strict}
	for at := time.Duration(0); at < long; at += every {
		a, b := load(at)
		out.add(p.Offer(a, b, every))
	}
	return out
}

// greedy is an alpha flow that takes whatever it gets.
func greedy(beta func(time.Duration) float64) offer {
	return func(at time.Duration) (float64, float64) { return line, beta(at) }
}

// hours of the day as a load curve: least at 03:00, most at 15:00.
func diurnal(least, most float64) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		return least + (most-least)*(1-math.Cos(2*math.Pi*(at.Hours()-3)/24))/2
	}
}

// noisy multiplies by a lognormal factor, new for every sample.
func noisy(seed uint64, sigma float64, f func(time.Duration) float64) func(time.Duration) float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(at time.Duration) float64 { return f(at) * math.Exp(sigma*r.NormFloat64()-sigma*sigma/2) }
}

// turns counts moves into the other direction than the one before.
func turns(moves []move) (n int) {
	for i := 1; i < len(moves); i++ {
		if (moves[i].to > moves[i].from) != (moves[i-1].to > moves[i-1].from) {
			n++
		}
	}
	return n
}

func TestAStepMovesOnceEachWay(t *testing.T) {
	step := func(at time.Duration) float64 {
		if at >= 2*time.Hour && at < 6*time.Hour {
			return 3e9
		}
		return 0.2e9
	}
	got := loop(Default(), 5, false, 12*time.Hour, greedy(step))
	if len(got.moves) != 2 || got.moves[0].to != 40 || got.moves[0].rule != RaiseNow || got.moves[1].to != 5 || got.moves[1].rule != Lower {
		t.Fatalf("3 of 10 Gbit/s for four hours: %+v, want one raise to 40 %% and, later, one back to 5", got.moves)
	}
	if raised := got.moves[0].at - 2*time.Hour; raised > 3*time.Minute {
		t.Errorf("the raise came %v after the step", raised)
	}
	if lowered := got.moves[1].at - 6*time.Hour; lowered < time.Hour {
		t.Errorf("the share was lowered %v after the load fell, before HoldDown", lowered)
	}
}

func TestARampIsFollowedWithoutLoss(t *testing.T) {
	for _, minutes := range []float64{60, 120, 240, 600} {
		ramp := func(at time.Duration) float64 { return 0.2e9 + 3.8e9*min(at.Minutes()/minutes, 1) }
		got := loop(Default(), 5, false, 14*time.Hour, greedy(ramp))
		// In two hours it grows by more than the least share between two moves: beta is then short for Settle.
		if minutes > 120 && (got.lost > 0 || got.delay > 0) || got.lost > 0.001*got.sent {
			t.Errorf("from 0.2 to 4 Gbit/s in %g min: %.3g bits lost, a delay of %v", minutes, got.lost, got.delay)
		}
		if turns(got.moves) > 0 || len(got.moves) > 8 {
			t.Errorf("from 0.2 to 4 Gbit/s in %g min: %+v, want raises only, fewer than the steps between", minutes, got.moves)
		}
	}
}

func TestNoiseMovesNothingBackAndForth(t *testing.T) {
	for seed := range uint64(12) {
		for _, mean := range []float64{0.38e9, 1.55e9, 2e9, 2.4e9, 3.2e9} { // some of them beside a rounding limit
			flat := func(time.Duration) float64 { return mean }
			got := loop(Default(), 20, false, 72*time.Hour, greedy(noisy(seed, 0.2, flat)))
			if turns(got.moves) > 1 || len(got.moves) > 4 {
				t.Errorf("seed %d, %.2g bit/s with a deviation of 20 %% for three days: %+v", seed, mean, got.moves)
			}
		}
	}
}

func TestADayIsForeseen(t *testing.T) {
	long := 8 * 24 * time.Hour
	got := loop(Default(), 5, false, long, greedy(noisy(3, 0.05, diurnal(0.4e9, 3.2e9))))
	by := map[int][]move{}
	for _, m := range got.moves {
		by[int(m.at.Hours()/24)] = append(by[int(m.at.Hours()/24)], m)
	}
	for d := 2; d < 8; d++ {
		if len(by[d]) > 8 || turns(by[d]) > 2 {
			t.Errorf("day %d: %+v, want at most 8 moves, up and down once", d, by[d])
		}
		for _, m := range by[d] {
			if m.rule == RaiseNow {
				t.Errorf("day %d: %+v came when beta was short already, and the days before were alike", d, m)
			}
		}
	}
	for i, lost := range got.lostBy {
		if at := time.Duration(i) * every; at > time.Hour && lost > 0 {
			t.Errorf("%.3g bits lost at %v", lost, at)
		}
	}
}

// No move may follow another within MinInterval unless beta was short, nor Moves be exceeded in any 24 hours, whatever
// the load.
func TestMovesAreRareWhateverComes(t *testing.T) {
	for seed := range uint64(60) {
		l := Default()
		got := loop(l, 20, seed%2 == 0, 48*time.Hour, hostile(seed))
		for i, m := range got.moves {
			what := fmt.Sprintf("seed %d, move %d of %d, %+v", seed, i, len(got.moves), m)
			if m.to < l.Min || m.to > l.Max || m.to%l.Step != 0 || m.to == m.from {
				t.Errorf("%s: not a share of the policy", what)
			}
			if i > 0 {
				gap := m.at - got.moves[i-1].at
				if gap < l.Settle || gap < l.MinInterval && m.rule != RaiseNow || m.rule == Lower && gap < l.HoldDown {
					t.Errorf("%s: %v after the one before", what, gap)
				}
			}
			if i >= l.Moves && m.at-got.moves[i-l.Moves].at < day {
				t.Errorf("%s: the budget of %d a day is exceeded", what, l.Moves)
			}
		}
	}
}

// hostile loads jump anywhere at any time.
func hostile(seed uint64) offer {
	r := rand.New(rand.NewPCG(seed, 2))
	var until time.Duration
	var a, b float64
	return func(at time.Duration) (float64, float64) {
		if at >= until {
			until = at + time.Duration(r.ExpFloat64()*float64(20*time.Minute))
			a, b = []float64{0, 3e9, line}[r.IntN(3)], r.Float64()*r.Float64()*9e9
		}
		return a, b
	}
}

// Where the policy's limits begin at the fixed share, beta never has a sample with more loss or delay than under it: a
// larger share never serves a queue later, and its larger buffer loses later.
func TestBetaIsNeverWorseThanUnderTheFixedSplit(t *testing.T) {
	for seed := range uint64(60) {
		for _, share := range []int{5, 20} {
			for _, strict := range []bool{false, true} {
				l := Default()
				l.Min = share
				got, want := loop(l, share, strict, 24*time.Hour, hostile(seed)), fixed(share, strict, 24*time.Hour, hostile(seed))
				sum := 0.0
				for i := range got.lostBy {
					if sum += got.lostBy[i] - want.lostBy[i]; sum > 1 {
						t.Fatalf("seed %d, %d %%, strict %v: by sample %d beta has lost %.3g bits more than under the fixed split", seed, share, strict, i, sum)
					}
				}
				if got.delay > want.delay+time.Millisecond {
					t.Errorf("seed %d, %d %%, strict %v: a delay of %v, fixed %v", seed, share, strict, got.delay, want.delay)
				}
			}
		}
	}
}

// What alpha has less than under a fixed split is what beta lost there: nothing is wasted on a work-conserving port.
func TestAlphaPaysWhatBetaNoLongerLosesAndNoMore(t *testing.T) {
	for _, share := range []int{5, 20} {
		load := greedy(diurnal(0.5e9, 3.2e9))
		got, want := loop(Default(), 5, false, 48*time.Hour, load), fixed(share, false, 48*time.Hour, load)
		paid, saved := want.alpha-got.alpha, want.lost-got.lost
		if math.Abs(paid-saved) > 1e-6*want.alpha {
			t.Errorf("beside %d %%: alpha has %.6g bits less, beta loses %.6g less", share, paid, saved)
		}
	}
}

// A port that never lends: what beta does not need at night is alpha's only by the loop.
func TestUnderAStrictPartitionAlphaGainsAtNight(t *testing.T) {
	load := greedy(diurnal(0.5e9, 3.2e9))
	got, safe := loop(Default(), 20, true, 72*time.Hour, load), fixed(40, true, 72*time.Hour, load)
	if got.alpha <= 1.1*safe.alpha {
		t.Errorf("alpha got %.4g bits, under the least fixed share that suffices for the day's peak %.4g", got.alpha, safe.alpha)
	}
	if got.lost > safe.lost {
		t.Errorf("beta lost %.4g bits, under the fixed share %.4g", got.lost, safe.lost)
	}
}

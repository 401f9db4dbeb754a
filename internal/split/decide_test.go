package split

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// port is one that has been looked at for a day and a half at constant loads, bit/s, and not moved.
func port(l Law, share int, alpha, beta float64) State {
	s := State{Share: share, Since: midnight.Add(-day)}
	for at := midnight; at.Before(midnight.Add(36 * time.Hour)); at = at.Add(every) {
		s, _ = l.Decide(s, sample(at, alpha, beta))
	}
	s.Moved, s.Since = nil, midnight
	return s
}

func sample(at time.Time, alpha, beta float64) Sample {
	return Sample{At: at, Capacity: line, Alpha: Load{Sent: alpha}, Beta: Load{Sent: beta}}
}

// noon of the second day is when the port above is looked at again.
var noon = midnight.Add(36 * time.Hour)

// lasting repeats a sample for so long and returns the last decision, without applying any.
func lasting(l Law, s State, x Sample, long time.Duration) (State, Decision) {
	var d Decision
	for until := x.At.Add(long); !x.At.After(until); x.At = x.At.Add(every) {
		s, d = l.Decide(s, x)
	}
	return s, d
}

func TestTheRules(t *testing.T) {
	l := Default()
	moved := func(n int) func(*State) {
		return func(s *State) {
			for range n {
				s.Moved = append(s.Moved, noon.Add(-time.Hour))
			}
		}
	}
	for _, c := range []struct {
		name        string
		share       int
		alpha, beta float64 // before
		change      func(*State)
		now         Sample
		long        time.Duration
		rule        Rule
		to          int
	}{
		{"a share that fits is kept", 20, 8e9, 1.4e9, nil, sample(noon, 8e9, 1.4e9), time.Hour, Keep, 20},
		{"no speed of the port: nothing is decided", 20, 8e9, 1.4e9, nil, Sample{At: noon}, 0, Missing, 20},
		{"a counter that went backwards says nothing", 20, 8e9, 1.4e9, nil, sample(noon, 8e9, -1), 0, Missing, 20},
		{"a sample twice says nothing the second time", 20, 8e9, 1.4e9, nil, sample(noon.Add(-every), 8e9, 9e9), 0, Missing, 20},
		{"room used up: raised to a quarter more", 20, 8e9, 1.7e9, nil, sample(noon, 8e9, 1.9e9), 5 * time.Minute, RaiseAhead, 25},
		{"room used up for seconds: not yet", 20, 8e9, 1.7e9, nil, sample(noon, 8e9, 9e9), 0, WaitInterval, 20},
		{"more than the share: raised at once to what comes", 20, 8e9, 1.4e9, nil, sample(noon, 7e9, 3e9), 2 * time.Minute, RaiseNow, 40},
		{"losses, though alpha leaves room: raised a step at least", 20, 1e9, 1.4e9, nil, Sample{At: noon, Capacity: line, Beta: Load{Sent: 1.4e9, Dropped: 0.1e9}}, 2 * time.Minute, RaiseNow, 25},
		{"losses below MaxLoss are no reason", 20, 8e9, 1.4e9, nil, Sample{At: noon, Capacity: line, Alpha: Load{Sent: 8e9}, Beta: Load{Sent: 1.4e9, Dropped: 0.01e9}}, 2 * time.Minute, Keep, 20},
		{"raised a moment ago: wait", 20, 8e9, 1.7e9, func(s *State) { s.Since = noon.Add(-5 * time.Minute) }, sample(noon, 8e9, 1.9e9), 5 * time.Minute, WaitInterval, 20},
		{"raised a moment ago, and too little: raised again", 20, 8e9, 1.4e9, func(s *State) { s.Since = noon.Add(-time.Minute) }, sample(noon, 7e9, 3e9), 2 * time.Minute, RaiseNow, 40},
		{"the budget of the day is used up", 20, 8e9, 1.4e9, moved(12), sample(noon, 7e9, 3e9), 2 * time.Minute, WaitBudget, 20},
		{"the policy allows no more", 60, 3e9, 5e9, nil, sample(noon, 1e9, 9e9), 2 * time.Minute, AtLimit, 60},
		{"less would do, and alpha wants it", 40, 8e9, 1.5e9, nil, sample(noon, 8.4e9, 1.5e9), 0, Lower, 20},
		{"less would do, but alpha does without", 40, 1e9, 1.5e9, nil, sample(noon, 1e9, 1.5e9), 0, NotWanted, 40},
		{"less would do, and alpha loses without wanting more in the mean", 40, 1e9, 1.5e9, nil, Sample{At: noon, Capacity: line, Alpha: Load{Sent: 1e9, Dropped: 1e6}, Beta: Load{Sent: 1.5e9}}, 0, Lower, 20},
		{"only a little less would do: not worth a move", 25, 8e9, 1.5e9, nil, sample(noon, 8e9, 1.5e9), 0, Keep, 25},
		{"lowering leaves half of the budget to raises", 40, 8e9, 1.5e9, moved(6), sample(noon, 8.4e9, 1.5e9), 0, WaitBudget, 40},
		{"never lowered within HoldDown of a move", 40, 8e9, 1.5e9, func(s *State) { s.Since = noon.Add(-30 * time.Minute) }, sample(noon, 8.4e9, 1.5e9), 0, WaitInterval, 40},
		{"the last hour needed it still", 40, 7e9, 3e9, func(s *State) { s.Beta.Season = [Slots]Quarter{} }, sample(noon, 8.5e9, 0.5e9), 30 * time.Minute, WaitLow, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := port(l, c.share, c.alpha, c.beta)
			if c.change != nil {
				c.change(&s)
			}
			_, d := lasting(l, s, c.now, c.long)
			if d.Rule != c.rule || d.Share != c.to {
				t.Errorf("%s, %d %%: %s; want %s, %d %%", d.Rule, d.Share, d.Why, c.rule, c.to)
			}
			if d.Moves() != (d.Share != c.share) || d.Why == "" {
				t.Errorf("moves %v from %d to %d %%, because %q", d.Moves(), c.share, d.Share, d.Why)
			}
		})
	}
}

// A queue that is full whatever it gets gains one step, and no more however long it lasts; the step is withdrawn.
func TestTrafficThatTakesWhatItGetsGainsOneStep(t *testing.T) {
	l := Default()
	s := port(l, 20, 8e9, 1.3e9)
	var d Decision
	seen := map[Rule]int{}
	run := func(from, to time.Duration, beta func(share float64) float64) {
		for at := from; at < to; at += every {
			b := beta(float64(s.Share) / 100 * line)
			s, d = l.Decide(s, sample(noon.Add(at), line-b, b))
			if seen[d.Rule]++; d.Moves() {
				s = l.Applied(s, d, noon.Add(at))
			}
		}
	}
	run(0, 8*time.Hour, func(share float64) float64 { return share })
	if s.Share > 30 || seen[RaiseNow]+seen[RaiseAhead] != 1 || seen[Adapts] == 0 {
		t.Fatalf("a TCP flow in beta for eight hours: %d %%, rules %v", s.Share, seen)
	}
	if !strings.Contains(d.Why, "alpha flow that nobody has found") {
		t.Errorf("the reason says %q", d.Why)
	}
	was := s.Share
	run(8*time.Hour, 9*time.Hour+30*time.Minute, func(float64) float64 { return 1.3e9 })
	run(9*time.Hour+30*time.Minute, 10*time.Hour, func(share float64) float64 { return share })
	if s.Share > was+l.Step+5 {
		t.Errorf("the next one, an hour later: %d %% after %d %%", s.Share, was)
	}
	run(10*time.Hour, 11*time.Hour, func(float64) float64 { return 5e9 }) // a load that does not adapt, though it was probed
	if s.Share != 60 {
		t.Errorf("5 Gbit/s that do not adapt have %d %%", s.Share)
	}
}

func TestAMoveThatCameToNothingWaitsLikeOneThatCame(t *testing.T) {
	l := Default()
	s := l.GivenUp(port(l, 20, 8e9, 1.7e9), noon)
	if _, d := lasting(l, s, sample(noon.Add(every), 8e9, 1.9e9), 5*time.Minute); d.Rule != WaitInterval {
		t.Errorf("%s: %s", d.Rule, d.Why)
	}
	if _, d := lasting(l, s, sample(noon.Add(every), 8e9, 1.9e9), 20*time.Minute); d.Rule != RaiseAhead {
		t.Errorf("%s: %s", d.Rule, d.Why)
	}
}

// Decide must not change the state that it got: a decision can be made again.
func TestDecidingChangesNothingOfWhatWasGiven(t *testing.T) {
	l := Default()
	s := port(l, 20, 8e9, 1.4e9)
	s.Moved = []time.Time{noon.Add(-30 * time.Hour), noon.Add(-time.Hour)}
	before := s
	before.Moved = append([]time.Time(nil), s.Moved...)
	one, first := l.Decide(s, sample(noon, 7e9, 3e9))
	two, second := l.Decide(s, sample(noon, 7e9, 3e9))
	if !reflect.DeepEqual(s, before) || !reflect.DeepEqual(one, two) || first != second {
		t.Errorf("a decision that was made twice differs, or changed what it was given")
	}
	if len(one.Moved) != 1 {
		t.Errorf("moves of the last day: %v", one.Moved)
	}
}

// The forecast against one that keeps every sample and computes it from the definition.
func TestTheForecastIsWhatItsDefinitionSays(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 3))
		var c Course
		peaks := map[int64]float64{} // of quarters
		level, n := 0.0, 0
		start := midnight.Add(time.Duration(r.IntN(86400)) * time.Second)
		first, last := slotOf(start), int64(0)
		at := start
		for at.Before(start.Add(5 * day)) {
			demand := diurnal(0.5e9, 3e9)(at.Sub(midnight)) * (0.5 + r.Float64())
			n++
			g := 1 / float64(n)
			if n > 1 {
				g = max(g, 1-math.Exp2(-every.Seconds()/120))
			}
			level += g * (demand - level)
			last = slotOf(at)
			peaks[last] = max(peaks[last], level)
			c.observe(at, demand)
			at = at.Add(every)
		}
		now := at.Add(-every)
		mean, deviation, offset := map[int64]float64{}, map[int64]float64{}, 0.0
		for slot := first + 1; slot < last; slot++ {
			q, known := mean[slot%Slots]
			if !known {
				mean[slot%Slots] = peaks[slot]
				continue
			}
			off := peaks[slot] - q
			offset += 0.3 * (off - offset)
			mean[slot%Slots] += 0.3 * off
			deviation[slot%Slots] += 0.3 * (math.Abs(off) - deviation[slot%Slots])
		}
		want := 0.0
		for slot := slotOf(now); slot <= slotOf(now.Add(4*time.Hour)); slot++ {
			want = max(want, mean[slot%Slots]+offset+2*deviation[slot%Slots])
		}
		if got := c.Ahead(now, 4*time.Hour) - spreads*c.Spread; math.Abs(got-want) > 1 {
			t.Errorf("seed %d: a forecast of %.6g bit/s, want %.6g", seed, got, want)
		}
	}
}

func TestAPauseBeginsTheLevelAnewAndKeepsTheDays(t *testing.T) {
	l := Default()
	s := port(l, 20, 8e9, 1.4e9)
	known := s.Beta.Ahead(noon, time.Hour)
	s, d := l.Decide(s, sample(noon.Add(3*time.Hour), 9e9, 0.3e9))
	if s.Beta.Level != 0.3e9 || d.Rule == Lower {
		t.Errorf("after three hours without a sample the level is %.3g, and the rule %s", s.Beta.Level, d.Rule)
	}
	if got := s.Beta.Ahead(noon.Add(3*time.Hour), time.Hour); math.Abs(got-known) > 0.01*known {
		t.Errorf("the forecast was %.4g and is %.4g", known, got)
	}
}

// Each parameter at the last value that is taken, and at the first that is not.
func TestParametersWithoutSenseAreRefused(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Fatalf("the default: %v", err)
	}
	type change func(*Law)
	for _, c := range []struct {
		what           string
		taken, refused change
	}{
		{"least", func(l *Law) { l.Min = 1 }, func(l *Law) { l.Min = 0 }},
		{"highest", func(l *Law) { l.Max = 99 }, func(l *Law) { l.Max = 100 }},
		{"limits", func(l *Law) { l.Min, l.Max = 20, 20 }, func(l *Law) { l.Min, l.Max = 21, 20 }},
		{"small step", func(l *Law) { l.Step = 1 }, func(l *Law) { l.Step = 0 }},
		{"large step", func(l *Law) { l.Step = 50 }, func(l *Law) { l.Step = 51 }},
		{"guard", func(l *Law) { l.Guard = 0 }, func(l *Law) { l.Guard = -0.1 }},
		{"headroom", func(l *Law) { l.Headroom = l.Guard + 0.1 }, func(l *Law) { l.Headroom = l.Guard }},
		{"large headroom", func(l *Law) { l.Headroom = 400 }, func(l *Law) { l.Headroom = 401 }},
		{"small hysteresis", func(l *Law) { l.Hysteresis = 5 }, func(l *Law) { l.Hysteresis = 4.9 }},
		{"hysteresis", func(l *Law) { l.Hysteresis = 99.9 }, func(l *Law) { l.Hysteresis = 100 }},
		{"settle", func(l *Law) { l.Settle = 1 }, func(l *Law) { l.Settle = 0 }},
		{"interval", func(l *Law) { l.MinInterval = l.Settle }, func(l *Law) { l.MinInterval = l.Settle - 1 }},
		{"hold down", func(l *Law) { l.HoldDown = l.MinInterval }, func(l *Law) { l.HoldDown = l.MinInterval - 1 }},
		{"no horizon", func(l *Law) { l.Horizon = 0 }, func(l *Law) { l.Horizon = -1 }},
		{"horizon", func(l *Law) { l.Horizon = day - 1 }, func(l *Law) { l.Horizon = day }},
		{"moves", func(l *Law) { l.Moves = 2 }, func(l *Law) { l.Moves = 1 }},
		{"small loss", func(l *Law) { l.MaxLoss = 0.01 }, func(l *Law) { l.MaxLoss = 0 }},
		{"loss", func(l *Law) { l.MaxLoss = 100 }, func(l *Law) { l.MaxLoss = 100.1 }},
	} {
		good, bad := Default(), Default()
		c.taken(&good)
		c.refused(&bad)
		if err := good.Validate(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if bad.Validate() == nil {
			t.Errorf("%s: %+v is taken", c.what, bad)
		}
	}
}

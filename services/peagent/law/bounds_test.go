package law

import (
	"math"
	"testing"
)

// Times and rates in these tables are binary fractions, so that a bound is met exactly.

func TestSlowStartGrowsWhileFeedbackIsFresh(t *testing.T) {
	p := DefaultParameters()
	for name, c := range map[string]struct {
		srtt, now, oldest float64 // the last feedback was at 8
		change            func(*Flow, *Round)
		grows             bool
	}{
		"feedback two round trips old":      {0.25, 8.5, 0, nil, true},
		"feedback a bit older":              {0.25, 8.5 + 1e-9, 0, nil, false},
		"a short path: a tenth of second":   {0.001, 8 + minGrowthTime, 0, nil, true},
		"a bit more":                        {0.001, 8 + minGrowthTime + 1e-9, 0, nil, false},
		"a request that still waits":        {0.25, 10, 11, nil, true},
		"one that left two round trips ago": {0.25, 10, 9.5, nil, true},
		"one that left a bit earlier":       {0.25, 10, 9.5 - 1e-9, nil, false},
		"one before the last feedback":      {0.25, 8.5, 7, nil, true},
		"a window that is not used":         {0.25, 8, 0, func(_ *Flow, r *Round) { r.WindowLimited = false }, false},
		"one that was not used before":      {0.25, 8, 0, func(f *Flow, _ *Round) { f.windowLimited = false }, true},
		"after slow start":                  {0.25, 8, 0, func(f *Flow, _ *Round) { f.Phase = CongestionAvoidance }, false},
	} {
		f := Flow{Weight: 1, Window: 64, SRTT: c.srtt, lastRTT: c.srtt, Phase: SlowStart, windowLimited: true, lastFeedback: 8}
		r := Round{Now: c.now, Elapsed: p.DoublingTime, OldestRequest: c.oldest, WindowLimited: true}
		if c.change != nil {
			c.change(&f, &r)
		}
		if f.GrowSlowStart(&p, r, 0); (f.Window == 128) != c.grows || !c.grows && f.Window != 64 {
			t.Errorf("%s: a window of 64 is %g after a doubling time; does it grow: %v", name, f.Window, c.grows)
		}
	}
}

func TestSlowStartEndsAtTheFairShare(t *testing.T) {
	p := DefaultParameters()
	for name, c := range map[string]struct {
		throughput float64
		want       Phase
	}{
		"the share is reached":     {64, CongestionAvoidance}, // 32 packets per 1/4 s are 128 a second, at weight 2
		"a bit less than it":       {64.001, SlowStart},
		"the share is not known":   {0, SlowStart},
		"the share is far exceded": {1, CongestionAvoidance},
	} {
		f := Flow{Weight: 2, Window: 32, SRTT: 0.25, lastRTT: 0.25, Phase: SlowStart, windowLimited: true}
		if f.GrowSlowStart(&p, Round{WindowLimited: true}, c.throughput); f.Phase != c.want {
			t.Errorf("%s: phase %d, want %d", name, f.Phase, c.want)
		}
	}
}

func TestTheRateIsHeldAfterSlowStart(t *testing.T) {
	p := DefaultParameters() // holds for 2 s, or four round trips if longer
	for name, c := range map[string]struct {
		srtt, since float64
		held        bool
	}{
		"two seconds":              {0.25, 2, true},
		"a bit more":               {0.25, 2.001, false},
		"four round trips of 1 s":  {1, 4, true},
		"a bit more than the four": {1, 4.001, false},
	} {
		f := Flow{Weight: 1, SRTT: c.srtt, Phase: CongestionAvoidance, rateHeld: true}
		f.releaseRate(&p, 8)
		if f.releaseRate(&p, 8+c.since); f.rateHeld != c.held {
			t.Errorf("%s after slow start: held %v, want %v", name, f.rateHeld, c.held)
		}
	}
	f := Flow{Weight: 1, SRTT: 0.25, Phase: SlowStart, rateHeld: true}
	if f.releaseRate(&p, 100); !f.rateHeld || f.slowStartEnd != 0 {
		t.Error("the hold began to run in slow start")
	}
}

func TestTimeoutsAtTheirBounds(t *testing.T) {
	p := DefaultParameters() // a peer is gone after 3 s
	for name, c := range map[string]struct {
		srtt, now, oldest, lastTimeout float64
		timeout                        bool
		want                           Phase
	}{
		"three round trips":                          {0.25, 8.75, 8, 0, true, CongestionAvoidance},
		"a bit less":                                 {0.25, 8.749, 8, 0, false, SlowStart},
		"a short path: 0.2 s":                        {0.001, 0.2 + 1./(1<<20), 1. / (1 << 20), -9, true, CongestionAvoidance},
		"a bit less than 0.2 s":                      {0.001, 8.199, 8, 0, false, SlowStart},
		"three round trips after another time-out":   {0.25, 8.75, 7, 8, true, CongestionAvoidance},
		"sooner after another time-out":              {0.25, 8.749, 7, 8, false, SlowStart},
		"a request as old as a peer may be silent":   {0.25, 11, 8, 0, true, CongestionAvoidance},
		"a request a bit older":                      {0.25, 11.001, 8, 0, true, NoFeedback},
		"an old request, but feedback since":         {0.25, 11.001, 7, 0, true, NoFeedback},
		"an old request, and feedback half a second": {0.25, 10.9, 7, 0, true, CongestionAvoidance},
	} {
		f := Flow{Weight: 1, Window: 64, B: 0.5, SRTT: c.srtt, Phase: SlowStart, lastFeedback: 8, lastTimeout: c.lastTimeout}
		if c.oldest < 1 {
			f.lastFeedback = 0
		}
		if got := f.CheckTimeout(&p, c.now, c.oldest); got != c.timeout || f.Phase != c.want {
			t.Errorf("%s: time-out %v and phase %d, want %v and %d", name, got, f.Phase, c.timeout, c.want)
		}
	}
}

// Losses within a round trip and the control loop's delay after a decrease belong to the same loss event.
func TestOneDecreasePerRoundTrip(t *testing.T) {
	f := Flow{SRTT: 0.25, controlDelay: 0.125, lastDecrease: 8}
	for now, want := range map[float64]bool{8.25: false, 8.374: false, 8.375: true, 9: true} {
		if f.mayDecrease(now) != want {
			t.Errorf("a decrease at %g after one at 8: %v, want %v", now, !want, want)
		}
	}
}

func TestAFlowThatKnowsNoRoundTripHasNoLimit(t *testing.T) {
	for name, f := range map[string]Flow{
		"no feedback":   {Window: 10, SRTT: 0.1},
		"no round trip": {Window: 10, Phase: SlowStart},
	} {
		if r := f.Rate(); r != 0 {
			t.Errorf("%s: rate %g, want no limit", name, r)
		}
	}
}

func TestTheQueueOfADistantPEIsNotShortened(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Flow)
		want   float64
	}{
		"all of the round trip is queue":       {func(f *Flow) { f.minRTT = 0 }, 0.25},
		"half of it is":                        {func(f *Flow) { f.minRTT = 0.125 }, 0.25},
		"less than half":                       {func(f *Flow) { f.minRTT = 0.1251 }, 1},
		"a queue shorter than 16 packets":      {func(f *Flow) { f.minRTT, f.SRTT = 0, 1./128 }, 0.125},
		"the rate is held":                     {func(f *Flow) { f.rateHeld = true }, 1},
		"slow start":                           {func(f *Flow) { f.Phase = SlowStart }, 1},
		"a round trip longer than the largest": {func(f *Flow) { f.minRTT, f.SRTT = 0, 2 }, 1},
	} {
		f := Flow{SRTT: 0.25, Phase: CongestionAvoidance}
		c.change(&f)
		if got := f.QueueLimit(128, 128); got != c.want {
			t.Errorf("%s: %g s, want %g", name, got, c.want)
		}
	}
}

// Two answers can be taken up in the same round of the control loop.
func TestFeedbackAtTheSameMoment(t *testing.T) {
	p := DefaultParameters()
	f := Flow{Weight: 1}
	for range 3 {
		f.Update(&p, Feedback{Now: 1, RTT: 0.1, Sent: 10, Received: 10, WindowLimited: true}, 0)
	}
	f.Update(&p, Feedback{Now: 0.9, RTT: 0.1, Sent: 20, Received: 20, WindowLimited: true}, 0)
	if math.IsNaN(f.sendRate) || math.IsInf(f.sendRate, 0) || f.sendRate != p.StartRate {
		t.Errorf("sending rate %g, want that of the start", f.sendRate)
	}
}

func TestWeightsOfFlowsWithoutARate(t *testing.T) {
	p := DefaultParameters()
	silent, started, running := Flow{Weight: 1}, Flow{Weight: 1, Window: 8, Phase: SlowStart}, avoiding(1, 0.25, 100, 50)
	SetWeights(&p, []*Flow{&silent, &started}, []float64{2, 3})
	if silent != (Flow{Weight: 2}) || started != (Flow{Weight: 3, Window: 8, Phase: SlowStart}) {
		t.Errorf("%+v and %+v: only the weights should change where nothing is sent", silent, started)
	}
	running.Window, running.lastRTT = 64, 0.25
	SetWeights(&p, []*Flow{&silent, &running}, []float64{1, 1})
	if silent != (Flow{Weight: 1}) || running.Window != 64 {
		t.Errorf("%+v and %+v: a flow without feedback has no window", silent, running)
	}
}

// An unused window is cut to the flow's share, or to what it sends with some headroom, whichever is more.
func TestAnUnusedWindowAtALossEvent(t *testing.T) {
	for name, c := range map[string]struct {
		limited    bool
		throughput float64
		want       float64
	}{
		"to the share":                     {false, 128, 64}, // 128 packets/s per weight, weight 2, 1/4 s
		"to what is sent":                  {false, 1, 31.25},
		"not where it is used":             {true, 128, 100},
		"not where the share is not known": {false, 0, 100},
		"never up":                         {false, 1e6, 100},
	} {
		f := avoiding(2, 0.25, 100, 100)
		f.Window = 100
		if f.validateWindow(Feedback{WindowLimited: c.limited}, c.throughput); f.Window != c.want {
			t.Errorf("%s: window %g, want %g", name, f.Window, c.want)
		}
	}
}

// One sample moves the rate to between two thirds and four thirds of W/SRTT, however far it is from SRTT.
func TestASampleCountsWithinBounds(t *testing.T) {
	for name, c := range map[string]struct{ sample, want float64 }{
		"as before":               {0.25, 256},
		"twice as long":           {0.5, 64 / 0.375},
		"ten times as long":       {2.5, 64 / 0.375},
		"half as long":            {0.125, 64 / 0.1875},
		"a hundredth of it":       {0.0025, 64 / 0.1875},
		"between half and twice":  {0.3125, 64 / 0.28125},
		"between half and itself": {0.1875, 64 / 0.21875},
	} {
		f := Flow{Weight: 1, Window: 64, SRTT: 0.25, lastRTT: c.sample, Phase: CongestionAvoidance}
		if got := f.Rate(); math.Abs(got/c.want-1) > 1e-12 {
			t.Errorf("%s: rate %g, want %g", name, got, c.want)
		}
		if f.rateHeld = true; f.Rate() != 256 {
			t.Errorf("%s: rate %g while it is held, want 256", name, f.Rate())
		}
	}
}

package split

import (
	"math"
	"testing"
	"time"
)

// even has numbers whose limits are whole: 16 % with Guard are 20 %, 24 % with Headroom.
func even() Law {
	l := Default()
	l.Headroom, l.Guard, l.Hysteresis = 50, 25, 50
	return l
}

// at is a course of a constant demand, known for two days, whose last sample came 30 s before noon.
func at(demand float64) Course {
	return Course{
		Level: demand, Surge: demand, Peak: demand, Slot: slotOf(noon),
		Seen: noon.Add(-every), Began: noon.Add(-2 * day), Samples: 5760,
	}
}

// steady is a port whose loads are as they were, for which nothing but the law's limits decides.
func steady(share int, alpha, beta float64) State {
	return State{Share: share, Since: noon.Add(-day), Alpha: at(alpha), Beta: at(beta)}
}

const ns = time.Nanosecond

// Each pair of cases stands on both sides of a limit.
func TestTheLimitsOfTheRules(t *testing.T) {
	l := even()
	short := func(long time.Duration) func(*State) { return func(s *State) { s.ShortSince = noon.Add(-long) } }
	both := func(changes ...func(*State)) func(*State) {
		return func(s *State) {
			for _, c := range changes {
				c(s)
			}
		}
	}
	since := func(long time.Duration) func(*State) { return func(s *State) { s.Since = noon.Add(-long) } }
	moved := func(n int, ago time.Duration) func(*State) {
		return func(s *State) {
			for range n {
				s.Moved = append(s.Moved, noon.Add(-ago))
			}
		}
	}
	began := func(ago time.Duration) func(*State) { return func(s *State) { s.Beta.Began = noon.Add(-ago) } }
	quarter := func(ahead time.Duration, demand float64) func(*State) {
		return func(s *State) { s.Beta.Season[slotOf(noon.Add(ahead))%Slots] = Quarter{Mean: demand, Days: 1} }
	}
	past := func(ago time.Duration, peak float64) func(*State) {
		return func(s *State) {
			slot := slotOf(noon.Add(-ago))
			s.Beta.Season[slot%Slots] = Quarter{Last: peak, Slot: slot}
		}
	}
	for _, c := range []struct {
		name        string
		share       int
		alpha, beta float64
		dropped     float64 // of beta
		change      func(*State)
		rule        Rule
		to          int
	}{
		{"Guard is just left", 20, 8e9, 1.6e9, 0, nil, Keep, 20},
		{"Guard is not left", 20, 8e9, 1.61e9, 0, short(l.Settle), RaiseAhead, 25},
		{"loss of MaxLoss", 20, 8e9, 0.99e9, 0.01e9, short(l.Settle), RaiseNow, 25},
		{"loss below MaxLoss", 20, 8e9, 0.9901e9, 0.0099e9, short(l.Settle), Keep, 20},
		{"a loss raises by a step, to the limit", 58, 3e9, 0.99e9, 0.01e9, short(l.Settle), RaiseNow, 60},
		{"a demand of the share is not above it", 20, 8e9, 2e9, 0, both(short(l.Settle), since(l.Settle)), WaitInterval, 20},
		{"a demand above the share", 20, 8e9, 2.01e9, 0, both(short(l.Settle), since(l.Settle)), RaiseNow, 35},
		{"short for Settle but a moment", 20, 8e9, 2.01e9, 0, short(l.Settle - ns), WaitInterval, 20},
		{"Settle after the last move but a moment", 20, 8e9, 2.01e9, 0, both(short(l.Settle), since(l.Settle-ns)), WaitInterval, 20},
		{"MinInterval after the last move", 20, 8e9, 1.8e9, 0, both(short(l.Settle), since(l.MinInterval)), RaiseAhead, 30},
		{"MinInterval but a moment", 20, 8e9, 1.8e9, 0, both(short(l.Settle), since(l.MinInterval-ns)), WaitInterval, 20},
		{"a level of ten minutes", 20, 8e9, 1.8e9, 0, both(short(l.Settle), began(10*time.Minute)), RaiseAhead, 30},
		{"a level of less, which is not short now", 20, 8e9, 1.8e9, 0, both(short(l.Settle), began(10*time.Minute-ns)), WaitInterval, 20},
		{"a level of less, which is", 20, 8e9, 2.01e9, 0, both(short(l.Settle), began(10*time.Minute-ns)), RaiseNow, 35},
		{"one move is left", 20, 8e9, 1.8e9, 0, both(short(l.Settle), moved(11, time.Hour)), RaiseAhead, 30},
		{"none is left", 20, 8e9, 1.8e9, 0, both(short(l.Settle), moved(12, time.Hour)), WaitBudget, 20},
		{"none is left for a moment", 20, 8e9, 1.8e9, 0, both(short(l.Settle), moved(12, day-ns)), WaitBudget, 20},
		{"all of yesterday", 20, 8e9, 1.8e9, 0, both(short(l.Settle), moved(12, day)), RaiseAhead, 30},
		{"below Max by a point", 59, 3e9, 6e9, 0, short(l.Settle), RaiseNow, 60},
		{"at Max", 60, 3e9, 6e9, 0, short(l.Settle), AtLimit, 60},
		{"a forecast within half an hour raises", 20, 8e9, 1e9, 0, both(short(l.Settle), quarter(30*time.Minute, 1.8e9)), RaiseAhead, 30},
		{"one of later does not", 20, 8e9, 1e9, 0, both(short(l.Settle), quarter(45*time.Minute, 1.8e9)), Keep, 20},

		{"lower by Hysteresis", 40, 8e9, 1.3e9, 0, nil, Lower, 20},
		{"lower by less", 39, 8e9, 1.3e9, 0, nil, Keep, 39},
		{"a forecast within Horizon keeps", 40, 8e9, 1.3e9, 0, quarter(4*time.Hour, 2e9), Keep, 40},
		{"one of later does not", 40, 8e9, 1.3e9, 0, quarter(4*time.Hour+15*time.Minute, 2e9), Lower, 20},
		{"a quarter within HoldDown needed more", 40, 8e9, 1.3e9, 0, past(time.Hour, 2e9), WaitLow, 40},
		{"one before it did", 40, 8e9, 1.3e9, 0, past(time.Hour+15*time.Minute, 2e9), Lower, 20},
		{"a level of HoldDown", 40, 8e9, 1.3e9, 0, began(l.HoldDown), Lower, 20},
		{"a level of less", 40, 8e9, 1.3e9, 0, began(l.HoldDown - ns), WaitLow, 40},
		{"alpha fills what it has but Guard", 40, 4.8e9, 1.3e9, 0, nil, NotWanted, 40},
		{"alpha fills more", 40, 4.81e9, 1.3e9, 0, nil, Lower, 20},
		{"five moves are half of the budget but one", 40, 8e9, 1.3e9, 0, moved(5, time.Hour), Lower, 20},
		{"six are half", 40, 8e9, 1.3e9, 0, moved(6, time.Hour), WaitBudget, 40},
		{"HoldDown after the last move", 40, 8e9, 1.3e9, 0, since(l.HoldDown), Lower, 20},
		{"HoldDown but a moment", 40, 8e9, 1.3e9, 0, since(l.HoldDown - ns), WaitInterval, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := steady(c.share, c.alpha, c.beta+c.dropped)
			if c.change != nil {
				c.change(&s)
			}
			x := Sample{At: noon, Capacity: line, Alpha: Load{Sent: c.alpha}, Beta: Load{Sent: c.beta, Dropped: c.dropped}}
			after, d := l.Decide(s, x)
			if d.Rule != c.rule || d.Share != c.to {
				t.Errorf("%s, %d %%: %s; want %s, %d %%", d.Rule, d.Share, d.Why, c.rule, c.to)
			}
			enough := c.rule == Keep || c.rule == Lower || c.rule == WaitLow || c.rule == NotWanted || c.rule == WaitBudget && c.share == 40 || c.rule == WaitInterval && c.share == 40
			if after.ShortSince.IsZero() != enough {
				t.Errorf("short since %v under %s", after.ShortSince, d.Rule)
			}
			if want := 100 * (c.beta + c.dropped) / line; math.Abs(d.Demand-want) > 1e-9 {
				t.Errorf("a demand of %g %%, want %g", d.Demand, want)
			}
		})
	}
}

func TestShortSinceIsTheFirstMoment(t *testing.T) {
	l := even()
	s, _ := l.Decide(steady(20, 8e9, 2.01e9), sample(noon, 8e9, 2.01e9))
	if !s.ShortSince.Equal(noon) {
		t.Errorf("short since %v", s.ShortSince)
	}
	if s, _ = l.Decide(s, sample(noon.Add(every), 8e9, 2.01e9)); !s.ShortSince.Equal(noon) {
		t.Errorf("then since %v", s.ShortSince)
	}
}

func TestNumbersThatAreNoneAreNoSample(t *testing.T) {
	for _, v := range []float64{-1, math.NaN(), math.Inf(1)} {
		for i := range 4 {
			x := sample(noon, 8e9, 1e9)
			*[]*float64{&x.Alpha.Sent, &x.Alpha.Dropped, &x.Beta.Sent, &x.Beta.Dropped}[i] = v
			if s, d := even().Decide(steady(20, 8e9, 1e9), x); d.Rule != Missing || !s.Beta.Seen.Equal(noon.Add(-every)) {
				t.Errorf("%g as number %d: %s", v, i, d.Rule)
			}
		}
		x := sample(noon, 8e9, 1e9)
		if x.Capacity = v; usable(x) {
			t.Errorf("a capacity of %g is taken", v)
		}
	}
	if x := sample(noon, 0, 0); !usable(x) {
		t.Error("silence says nothing")
	}
	if got := (Load{}).Loss(); got != 0 {
		t.Errorf("silence loses %g %%", got)
	}
}

// A queue stands full from nearly its share to a little more, on a port that is nearly busy, with less than MaxLoss.
func TestWhenAQueueStandsFull(t *testing.T) {
	l, guaranteed, one := even(), 2e9, float64(1)
	low, high := nearly*guaranteed, guaranteed/(nearly*one)
	for _, c := range []struct {
		name        string
		alpha, beta Load
		full        bool
	}{
		{"as little as it may", Load{Sent: nearly*line - low}, Load{Sent: low}, true},
		{"less", Load{Sent: 8.2e9}, Load{Sent: low - 1}, false},
		{"as much as it may", Load{Sent: 8e9}, Load{Sent: high}, true},
		{"more", Load{Sent: 8e9}, Load{Sent: high + 1}, false},
		{"the port is not busy", Load{Sent: nearly*line - low - 1}, Load{Sent: low}, false},
		{"it loses as much as what does not adapt", Load{Sent: 8e9}, Load{Sent: 1.98e9, Dropped: 0.02e9}, false},
		{"it loses less", Load{Sent: 8e9}, Load{Sent: 1.98e9, Dropped: 0.0199e9}, true},
	} {
		for _, long := range []time.Duration{2*l.Settle - ns, 2 * l.Settle} {
			s := steady(20, 8e9, 1e9)
			s.FullSince = noon.Add(-long)
			s, lasting := l.full(s, Sample{At: noon, Capacity: line, Alpha: c.alpha, Beta: c.beta})
			if lasting != (c.full && long == 2*l.Settle) || !s.FullSince.Equal(noon.Add(-long)) || s.FreeSince.IsZero() != c.full {
				t.Errorf("%s, for %v: lasting %v, full since %v, free since %v", c.name, long, lasting, s.FullSince, s.FreeSince)
			}
		}
	}
}

func TestATryIsForgottenAfterHoldDown(t *testing.T) {
	l := even()
	for ago, probed := range map[time.Duration]bool{l.HoldDown - ns: true, l.HoldDown: false} {
		s := steady(20, 1e9, 1e9)
		s.Probed, s.FreeSince = true, noon.Add(-ago)
		if s, _ = l.full(s, sample(noon, 1e9, 1e9)); s.Probed != probed || !s.FreeSince.Equal(noon.Add(-ago)) {
			t.Errorf("free for %v: probed %v, free since %v", ago, s.Probed, s.FreeSince)
		}
		s.Probed, s.FreeSince = false, noon.Add(-ago)
		if s, _ = l.full(s, sample(noon, 1e9, 1e9)); s.Probed {
			t.Error("a try that never was")
		}
	}
	s := steady(20, 1e9, 1e9)
	if s, _ = l.full(s, sample(noon, 1e9, 1e9)); !s.FreeSince.Equal(noon) {
		t.Errorf("free since %v", s.FreeSince)
	}
	if s, _ = l.full(s, sample(noon.Add(every), 8e9, 2e9)); !s.FullSince.Equal(noon.Add(every)) || !s.FreeSince.IsZero() {
		t.Errorf("full since %v, free since %v", s.FullSince, s.FreeSince)
	}
}

// What a full queue offers is not learnt once a try has shown that it takes what it gets; and where the day before
// needed all of it, it is no such traffic.
func TestWhatAdapts(t *testing.T) {
	l := even()
	for _, c := range []struct {
		name         string
		full, probed bool
		ahead        float64
		adapts       bool
	}{
		{"full after a try", true, true, 1.6e9, true},
		{"full after a try, and the day before needed more", true, true, 1.61e9, false},
		{"full before a try", true, false, 1.6e9, false},
		{"not full after a try", false, true, 1.6e9, false},
	} {
		s := steady(20, 8e9, 2e9)
		s.Probed = c.probed
		s.Beta.Season[slotOf(noon)%Slots] = Quarter{Mean: c.ahead, Days: 1}
		alpha := 8e9
		if c.full {
			s.FullSince = noon.Add(-time.Hour)
		} else {
			s.FreeSince = noon.Add(-every)
			alpha = 1e9
		}
		s, d := l.Decide(s, sample(noon, alpha, 2e9))
		if (d.Rule == Adapts) != c.adapts {
			t.Errorf("%s: %s", c.name, d.Rule)
		}
		if learnt := s.Beta.Seen.Equal(noon); learnt == (c.full && c.probed) {
			t.Errorf("%s: learnt %v", c.name, learnt)
		}
	}
}

func TestARaiseForAFullQueueIsATry(t *testing.T) {
	l := even()
	for _, c := range []struct {
		rule   Rule
		full   time.Duration // 0: not
		before bool
		probed bool
	}{
		{RaiseNow, 2 * l.Settle, false, true}, {RaiseAhead, 2 * l.Settle, false, true}, {Lower, 2 * l.Settle, false, false},
		{RaiseNow, 2*l.Settle - ns, false, false}, {RaiseNow, 0, false, false}, {RaiseNow, 0, true, true}, {Lower, 0, true, true},
	} {
		s := steady(20, 8e9, 2e9)
		s.Probed, s.ShortSince = c.before, noon
		if c.full > 0 {
			s.FullSince = noon.Add(-c.full)
		}
		got := l.Applied(s, Decision{Rule: c.rule, Share: 30}, noon)
		if got.Probed != c.probed || got.Share != 30 || !got.Since.Equal(noon) || !got.ShortSince.IsZero() || len(got.Moved) != 1 || !got.Moved[0].Equal(noon) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// A move takes a while, in which one router after another has it: what the queue was when it was asked for counts.
func TestATryIsOneThatWasAskedForWhileTheQueueWasFull(t *testing.T) {
	l := even()
	for _, c := range []struct {
		name   string
		full   time.Duration // before it was free again
		asked  time.Duration // after which it was free
		probed bool
	}{
		{"asked for while it was full", 2 * l.Settle, ns, true},
		{"asked for when it was free again", 2 * l.Settle, 0, false},
		{"full for a moment", 2*l.Settle - ns, ns, false},
	} {
		s := steady(20, 8e9, 2e9)
		s.FreeSince = noon.Add(-10 * time.Minute)
		s.FullSince = s.FreeSince.Add(-c.full)
		if got := l.Applied(s, Decision{Rule: RaiseAhead, Share: 30, At: s.FreeSince.Add(-c.asked)}, noon); got.Probed != c.probed {
			t.Errorf("%s: probed %v", c.name, got.Probed)
		}
	}
	s := steady(20, 8e9, 2e9)
	s.FullSince, s.FreeSince = noon.Add(-day), noon.Add(-time.Hour)
	if s, lasting := l.full(s, sample(noon, 8e9, 2e9)); lasting || !s.FullSince.Equal(noon) || !s.FreeSince.IsZero() {
		t.Errorf("full again: lasting %v, since %v", lasting, s.FullSince)
	}
}

func TestSharesAreSteps(t *testing.T) {
	l := even()
	for percent, want := range map[float64]int{0: 5, 5: 5, 5.01: 10, 25: 25, 25.000001: 30, 60: 60, 61: 60, 1e30: 60} {
		if got := l.roundUp(percent); got != want {
			t.Errorf("%g %% is %d, want %d", percent, got, want)
		}
	}
}

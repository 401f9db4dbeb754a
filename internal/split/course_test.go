package split

import (
	"math"
	"testing"
	"time"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// The first samples, by hand: the level is their mean, the surge is smoothed with its half-life, the spread is the mean
// distance from the surge.
func TestACourseByHand(t *testing.T) {
	var c Course
	c.observe(noon, 100)
	near(t, "level", c.Level, 100)
	near(t, "surge", c.Surge, 100)
	near(t, "spread", c.Spread, 0)
	c.observe(noon.Add(halfSurge), 200)
	near(t, "level of two", c.Level, 150)
	near(t, "surge after its half-life", c.Surge, 150)
	near(t, "spread of two", c.Spread, 50) // half of 100
	c.observe(noon.Add(2*halfSurge), 150)
	near(t, "level of three", c.Level, 150)
	near(t, "surge of three", c.Surge, 150)
	near(t, "spread of three", c.Spread, 50-50/3.)
	near(t, "now", c.Now(), 150+2.5*c.Spread)
	if c.Samples != 3 || !c.Began.Equal(noon) || !c.Seen.Equal(noon.Add(2*halfSurge)) || c.Peak != 150 {
		t.Errorf("%+v", c)
	}
	before := c
	c.observe(noon.Add(2*halfSurge), 900)
	c.observe(noon, 900)
	if c != before {
		t.Error("a sample of the past changes something")
	}
}

func TestAPauseOfLongestIsBridged(t *testing.T) {
	for gap, anew := range map[time.Duration]bool{longest: false, longest + ns: true} {
		c := at(100)
		c.observe(c.Seen.Add(gap), 300)
		if (c.Samples == 1) != anew || c.Began.Equal(c.Seen) != anew || (c.Spread == 0) != anew {
			t.Errorf("a gap of %v: %d samples since %v, a spread of %g", gap, c.Samples, c.Began, c.Spread)
		}
	}
}

func TestALongSmoothingHasItsHalfLives(t *testing.T) {
	c := at(0)
	c.observe(c.Seen.Add(halfLevel), 100)
	near(t, "level after its half-life", c.Level, 50)
	c = at(0)
	c.observe(c.Seen.Add(halfSpread), 100)
	near(t, "spread after its half-life", c.Spread, 50)
}

// A quarter is learnt when the next begins, if it was seen from its start.
func TestWhatIsLearnt(t *testing.T) {
	start := midnight.Add(10 * time.Hour)
	for _, c := range []struct {
		name   string
		began  time.Time
		before Quarter
		want   Quarter
		offset float64
	}{
		{"not from its start", start, Quarter{}, Quarter{Last: 100, Slot: slotOf(start)}, 0},
		{"the first day", start.Add(-ns), Quarter{}, Quarter{Mean: 100, Days: 1, Last: 100, Slot: slotOf(start)}, 0},
		{"a later day", start.Add(-day), Quarter{Mean: 80, Deviation: 10, Days: 2}, Quarter{Mean: 86, Deviation: 13, Days: 3, Last: 100, Slot: slotOf(start)}, 6},
		{"a lower one", start.Add(-day), Quarter{Mean: 120, Deviation: 10, Days: 2}, Quarter{Mean: 114, Deviation: 13, Days: 3, Last: 100, Slot: slotOf(start)}, -6},
	} {
		l := Course{Level: 100, Surge: 100, Peak: 100, Slot: slotOf(start), Began: c.began, Seen: start.Add(slotLength - time.Second), Samples: 1000}
		l.Season[l.Slot%Slots] = c.before
		l.observe(start.Add(slotLength-ns), 100)
		if got := l.Season[slotOf(start)%Slots]; got != c.before {
			t.Errorf("%s: learnt before it is over: %+v", c.name, got)
		}
		l.observe(start.Add(slotLength), 100)
		got := l.Season[slotOf(start)%Slots]
		near(t, c.name+": mean", got.Mean, c.want.Mean)
		near(t, c.name+": deviation", got.Deviation, c.want.Deviation)
		near(t, c.name+": offset", l.Offset, c.offset)
		if got.Days != c.want.Days || got.Last != c.want.Last || got.Slot != c.want.Slot || l.Slot != slotOf(start)+1 {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestTheForecastHasAllItsParts(t *testing.T) {
	c := at(0)
	c.Offset, c.Spread = 7, 2
	c.Season[slotOf(noon.Add(time.Hour))%Slots] = Quarter{Mean: 100, Deviation: 10, Days: 1}
	near(t, "forecast", c.Ahead(noon, time.Hour), 100+7+2*10+2.5*2)
	near(t, "forecast of less", c.Ahead(noon, time.Hour-ns), 0)
	near(t, "forecast from its begin", c.Ahead(noon.Add(time.Hour), 0), 132)
	near(t, "forecast after it", c.Ahead(noon.Add(time.Hour+slotLength), time.Hour), 0)
}

func TestThePastIsThatOfItsQuarters(t *testing.T) {
	c := at(50)
	c.Spread = 2
	for i := range int64(3) {
		slot := slotOf(noon) - 1 - i
		c.Season[slot%Slots] = Quarter{Last: float64(60 + 10*i), Slot: slot}
	}
	yesterday := slotOf(noon) - 4
	c.Season[yesterday%Slots] = Quarter{Last: 500, Slot: yesterday - Slots}
	now := slotOf(noon)
	c.Season[now%Slots] = Quarter{Last: 900, Slot: now} // not over: Peak has it
	for long, want := range map[time.Duration]float64{0: 55, slotLength: 65, 2 * slotLength: 75, 3*slotLength - ns: 85, time.Hour: 85} {
		got, known := c.behind(noon, long)
		near(t, "the highest of "+long.String(), got, want)
		if !known {
			t.Errorf("%v: not known", long)
		}
	}
	c.Began = noon.Add(-time.Hour)
	if _, known := c.behind(noon, time.Hour); !known {
		t.Error("an hour is not known after an hour")
	}
	if _, known := c.behind(noon, time.Hour+ns); known {
		t.Error("more than an hour is known after an hour")
	}
}

package split

import (
	"math"
	"time"
)

// The course of a day is learnt by quarters of an hour of UTC.
const (
	Slots      = 96
	slotLength = 24 * time.Hour / Slots
)

// How fast is learnt. The level follows within minutes, which bursts of seconds do not move; surge follows within
// seconds, and counts only where beta has been short for a while. A day counts for three tenths of a quarter's course,
// so that a week is remembered.
const (
	halfLevel  = 2 * time.Minute
	halfSurge  = 15 * time.Second
	halfSpread = 15 * time.Minute
	learning   = 0.3
	// band is how many mean deviations a forecast has added (Brutlag), spreads how many a level has.
	band, spreads = 2, 2.5
	// longest is the pause after which the level is begun anew.
	longest = 30 * time.Minute
)

// Course is what is known of a class's demand on a port, in bit/s.
type Course struct {
	// Level is the smoothed demand as of Seen, Surge the same of the last seconds, Spread how far samples are from it.
	Level, Surge, Spread float64
	Seen                 time.Time
	// Began is when samples began, and Samples how many came since.
	Began   time.Time
	Samples int
	// Peak is the highest level in quarter Slot, counted from the Unix epoch, so far.
	Peak float64
	Slot int64
	// Offset is by how much today is above the course.
	Offset float64
	Season [Slots]Quarter
}

// Quarter is what is known of one quarter of an hour of the day.
type Quarter struct {
	// Mean is of the days' peaks, Deviation of their differences from it.
	Mean, Deviation float64
	// Days is how many there were.
	Days int
	// Last is the peak of quarter Slot, counted as in Course.
	Last float64
	Slot int64
}

func slotOf(t time.Time) int64 { return t.Unix() / int64(slotLength/time.Second) }

// observe takes the demand at a time. Samples that are not newer than the last one say nothing new.
func (c *Course) observe(at time.Time, demand float64) {
	gap := at.Sub(c.Seen)
	if !c.Seen.IsZero() && gap <= 0 {
		return
	}
	if c.Samples++; c.Seen.IsZero() || gap > longest {
		c.Began, c.Samples, c.Surge, c.Spread = at, 1, demand, 0
	}
	least := 1 / float64(c.Samples) // at the beginning the level is the mean
	c.Spread += max(gain(gap, halfSpread), least) * (math.Abs(demand-c.Surge) - c.Spread)
	c.Level += max(gain(gap, halfLevel), least) * (demand - c.Level)
	c.Surge += gain(gap, halfSurge) * (demand - c.Surge)
	if slot := slotOf(at); slot != c.Slot {
		c.learn()
		c.Slot, c.Peak = slot, c.Level
	}
	c.Seen, c.Peak = at, max(c.Peak, c.Level)
}

// settled reports whether the level is the mean of many samples.
func (c *Course) settled() bool { return c.Seen.Sub(c.Began) >= 5*halfLevel }

// gain is that of exponential smoothing for a sample after a gap.
func gain(gap, half time.Duration) float64 { return 1 - math.Exp2(-gap.Seconds()/half.Seconds()) }

// learn puts the quarter that is over into the course of the day, if it was seen from its start.
func (c *Course) learn() {
	q := &c.Season[c.Slot%Slots]
	q.Last, q.Slot = c.Peak, c.Slot
	switch off := c.Peak - q.Mean; {
	case slotOf(c.Began) >= c.Slot:
		return
	case q.Days == 0:
		q.Mean = c.Peak
	default:
		c.Offset += learning * (off - c.Offset)
		q.Mean += learning * off
		q.Deviation += learning * (math.Abs(off) - q.Deviation)
	}
	q.Days++
}

// Now is the demand of which samples are seldom more.
func (c *Course) Now() float64 { return c.Level + spreads*c.Spread }

// Ahead is the highest demand forecast from now on for so long; nothing where no quarter of it is known.
func (c *Course) Ahead(now time.Time, horizon time.Duration) float64 {
	most := 0.0
	for slot := slotOf(now); slot <= slotOf(now.Add(horizon)); slot++ {
		if q := &c.Season[slot%Slots]; q.Days > 0 {
			most = max(most, q.Mean+c.Offset+band*q.Deviation+spreads*c.Spread)
		}
	}
	return most
}

// behind is the highest level of the time before now, so long and up to a quarter of an hour longer. It reports
// whether samples came over all of it.
func (c *Course) behind(now time.Time, long time.Duration) (most float64, known bool) {
	most = c.Peak
	for slot := slotOf(now.Add(-long)); slot < c.Slot; slot++ {
		if q := &c.Season[slot%Slots]; q.Slot == slot {
			most = max(most, q.Last)
		}
	}
	return most + spreads*c.Spread, now.Sub(c.Began) >= long
}

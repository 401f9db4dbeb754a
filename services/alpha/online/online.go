// Package online finds alpha flows while they go on, by the rule of the nightly run and from the records as they come:
// pure, so that equal records and times of arrival find equal flows.
//
// In: batches of flow records with the time of their arrival. Out: the flows that have sent more than H within one
// interval so far, with the bounds within which their bytes lie. Next: services/alpha, which raises the alarm.
//
// The memory is bounded (see Limits). Where no more flows send in an interval than there are counters, every sum is
// that of the nightly run over the same records. Beyond that the counters are those of Metwally, Agrawal and El Abbadi,
// "Efficient computation of frequent and top-k elements in data streams" (Space-Saving, 2005): a flow that finds no
// counter free takes the one that has counted least, and may have sent as much before. So the error of a flow is at
// most what all flows sent in the interval divided by the number of counters, a flow that sent more than that always
// has a counter, and is counted exactly from then on.
//
// Mutation testing: 88 of 88 killed (docs/reference/mutants.md).
package online

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/services/alpha/detect"
)

// Limits are what a Detector remembers at most.
type Limits struct {
	// Flows is the number of counters of one interval. Default 16384.
	Flows int `yaml:"flows"`
	// Horizon is how long ago an interval may have begun that is still summed. Longer ago is left to the nightly run.
	// Default 15m.
	Horizon time.Duration `yaml:"horizon"`
}

// DefaultLimits hold 100 Gbit/s with an error of 46 MB, and records of up to 15 minutes.
func DefaultLimits() Limits { return Limits{Flows: 16384, Horizon: 15 * time.Minute} }

const (
	// ahead is how much of an exporter's future is summed: clocks differ.
	ahead = time.Minute
	// maxIntervals bounds what may be remembered at once.
	maxIntervals = 1440
)

// Validate rejects invalid values; its error names a valid one.
func (l Limits) Validate(rule detect.Rule) error {
	switch {
	case l.Flows < 256 || l.Flows > 1<<22:
		return fmt.Errorf("flows is %d; want 256 to %d counters per interval", l.Flows, 1<<22)
	case l.Horizon < rule.Interval:
		return fmt.Errorf("horizon %s is shorter than one interval (%s); it should be the exporters' longest active timeout", l.Horizon, rule.Interval)
	case l.intervals(rule) > maxIntervals:
		return fmt.Errorf("horizon %s is more than %d intervals of %s", l.Horizon, maxIntervals, rule.Interval)
	}
	return nil
}

// intervals are how many can be summed at once.
func (l Limits) intervals(rule detect.Rule) int {
	return int((l.Horizon+ahead)/rule.Interval) + 2
}

// Memory is how much a Detector holds at most, in octets.
func (l Limits) Memory(rule detect.Rule) int64 {
	return int64(l.intervals(rule))*int64(l.Flows)*counterOctets + seenBatches*seenOctets
}

// Finding is a flow that is alpha, or may be.
type Finding struct {
	Key      detect.Key
	Evidence detect.Evidence
	// Missed is what the flow may have sent in the interval before it was counted; the evidence is without it.
	Missed uint64
	// Alpha: the evidence is above the threshold. If not, only its upper bound is.
	Alpha bool
	// Low and High are the bounds of the bytes, by sampling (95 %) and by what was missed.
	Low, High uint64
}

// Certain reports whether no error explains that the flow is alpha.
func (f Finding) Certain() bool { return f.Alpha && f.Low > f.Evidence.MinBytes }

// Detector sums flows over intervals. It is not safe for concurrent use.
type Detector struct {
	rule      detect.Rule
	limits    Limits
	intervals map[int64]*table // by start, in milliseconds
	batches   seen
	counts    Counts
}

// Counts are what was taken since the start, and what was not.
type Counts struct {
	Records, Batches uint64
	// Repeated are batches that were taken before.
	Repeated uint64
	// Outside are records that touch no interval within the horizon, or end in the future.
	Outside uint64
	// Displaced are counters that were taken from one flow for another.
	Displaced uint64
}

// New makes a detector; limits and rule are valid.
func New(rule detect.Rule, limits Limits) *Detector {
	return &Detector{rule: rule, limits: limits, intervals: map[int64]*table{}}
}

// Counts of what was taken so far.
func (d *Detector) Counts() Counts { return d.counts }

// Missed is the largest number of bytes that a flow may have sent in any interval without their being counted.
func (d *Detector) Missed() uint64 {
	var most uint64
	for _, t := range d.intervals {
		most = max(most, t.least())
	}
	return most
}

// Take sums the records of a batch that arrives now, unless it was taken before, and returns each flow among them that
// is alpha or may be, once per interval.
func (d *Detector) Take(id string, records []detect.Record, now time.Time) []Finding {
	oldest, newest := d.oldest(now), now.Add(ahead)
	d.forget(oldest, newest)
	if id != "" && !d.batches.first(id) {
		d.counts.Repeated++
		return nil
	}
	d.counts.Batches++
	touched := map[place]bool{}
	for _, r := range records {
		if r.End.After(newest) || r.Start.After(r.End) || !r.End.After(oldest) {
			d.counts.Outside++
			continue
		}
		d.counts.Records++
		d.rule.Pieces(r, oldest, func(s detect.Sum) {
			t := d.table(s.Start)
			c, displaced := t.add(s)
			if displaced {
				d.counts.Displaced++
			}
			if d.suspect(c) {
				touched[place{s.Start.UnixMilli(), c.key}] = true
			}
		})
	}
	return d.findings(touched)
}

// place is a flow in an interval.
type place struct {
	start int64
	key   flowKey
}

// suspect saves the many flows that are far from the threshold the trouble of bounds: sampling makes a sum less than
// three times as large, that of a single packet sampled.
func (d *Detector) suspect(c *counter) bool {
	if c.rate > 1 {
		return c.upper() > d.rule.MinBytes/3
	}
	return c.upper() > d.rule.MinBytes
}

func (d *Detector) findings(touched map[place]bool) []Finding {
	var out []Finding
	for at := range touched {
		c, ok := d.intervals[at.start].get(at.key)
		if !ok {
			continue // displaced by a later record of the batch
		}
		if f, ok := d.judge(c, time.UnixMilli(at.start).UTC()); ok {
			out = append(out, f)
		}
	}
	sortFindings(out)
	return out
}

// judge returns whether the flow is alpha, or may be; false also for one whose addresses make no pair.
func (d *Detector) judge(c *counter, start time.Time) (Finding, bool) {
	sum := c.sum(start)
	key, ok := d.rule.KeyOf(sum)
	if !ok {
		return Finding{}, false
	}
	_, alpha := d.rule.Alpha(sum)
	f := Finding{Key: key, Evidence: d.rule.Evidence(sum), Missed: c.missed, Alpha: alpha}
	f.Low, _ = f.Evidence.Bounds()
	whole := f.Evidence
	whole.Bytes = c.upper()
	_, f.High = whole.Bounds()
	return f, f.High > d.rule.MinBytes
}

func (d *Detector) table(start time.Time) *table {
	at := start.UnixMilli()
	t := d.intervals[at]
	if t == nil {
		t = newTable(d.limits.Flows)
		d.intervals[at] = t
	}
	return t
}

// oldest is the start of the oldest interval that is summed.
func (d *Detector) oldest(now time.Time) time.Time {
	ms := d.rule.Interval.Milliseconds()
	return time.UnixMilli(now.Add(-d.limits.Horizon).UnixMilli() / ms * ms).UTC()
}

// forget drops the intervals that are past, and those of a time that a clock was ahead by and is no longer.
func (d *Detector) forget(oldest, newest time.Time) {
	for start := range d.intervals {
		if start < oldest.UnixMilli() || start > newest.UnixMilli() {
			delete(d.intervals, start)
		}
	}
}

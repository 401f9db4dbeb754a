package guard

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/portcounters"
)

// SLO is what the canary router must keep while it is watched.
type SLO struct {
	// MaxDrops is the largest share of its packets that a queue may drop, such as 0.01.
	MaxDrops float64
	// MinPackets is how many packets a queue is offered before its share is judged: of ten packets, one is a tenth.
	MinPackets uint64
}

// Queue is what one queue's counters read, oldest first.
type Queue struct {
	Name          string
	Sent, Dropped []portcounters.Reading
}

// Outcome of watching a canary router.
type Outcome string

// The outcomes.
const (
	Watching Outcome = "watching"
	Kept     Outcome = "kept"
	Broken   Outcome = "broken"
)

// Judge decides from what was read between from and now whether the router kept the SLO until the end. A queue that
// drops too much ends it at once. A router of which nothing was read in the second half has proven nothing, and neither
// has one with a queue that was not read in the first half: what a counter rose by is known between two readings only.
// The text is the figure that decided.
func (s SLO) Judge(queues []Queue, from, until, now time.Time) (Outcome, string) {
	var newest time.Time
	var packets, drops uint64
	half, uncovered := from.Add(until.Sub(from)/2), ""
	for _, q := range queues {
		if uncovered == "" && !q.covers(half) {
			uncovered = q.Name
		}
		sent, dropped := portcounters.Growth(q.Sent), portcounters.Growth(q.Dropped)
		for _, r := range slices.Concat(q.Sent, q.Dropped) {
			newest = later(newest, r.At)
		}
		packets, drops = packets+sent+dropped, drops+dropped
		if offered := sent + dropped; offered >= max(s.MinPackets, 1) && float64(dropped) > s.MaxDrops*float64(offered) {
			return Broken, fmt.Sprintf("queue %s dropped %s of %d packets, more than %s", q.Name, percent(float64(dropped)/float64(offered)), offered, percent(s.MaxDrops))
		}
	}
	switch {
	case now.Before(until):
		return Watching, ""
	case newest.IsZero():
		return Broken, fmt.Sprintf("none of its queue counters was read in %s, so the SLO cannot be judged", until.Sub(from))
	case newest.Before(half):
		return Broken, fmt.Sprintf("none of its queue counters was read in the last %s, so the SLO cannot be judged", until.Sub(newest).Round(time.Second))
	case uncovered != "":
		return Broken, fmt.Sprintf("queue %s was read in the second half of %s only, so its drops before that are unknown", uncovered, until.Sub(from))
	}
	return Kept, fmt.Sprintf("%d of %d packets dropped in %s", drops, packets, until.Sub(from))
}

// covers reports whether the queue was read before a time if it was read after it: one that went away has no second
// half.
func (q Queue) covers(half time.Time) bool {
	before, after := false, false
	for _, r := range slices.Concat(q.Sent, q.Dropped) {
		before, after = before || r.At.Before(half), after || !r.At.Before(half)
	}
	return before || !after
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// percent has three significant figures.
func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 3, 64) + " %" }

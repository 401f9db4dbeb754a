package push

import (
	"strings"
	"testing"
	"time"
)

// A clock that was two hours ahead and was set back: what was applied meanwhile does not hold up what comes after, and
// it is known which was the later.
func TestAClockThatWasAheadHoldsUpNoChangeSet(t *testing.T) {
	w := newWorld(t)
	w.passed.Add(int64(2 * time.Hour))
	w.verify("day-1")
	first := w.record()
	w.passed.Add(-int64(2 * time.Hour))
	w.plans.set("heavier")
	w.verify("day-2")
	second := w.record()
	if !second.GetCreated().AsTime().After(first.GetCreated().AsTime()) || !after(second, first) {
		t.Errorf("%s was made at %s and the one after it at %s", first.GetId(), first.GetCreated().AsTime(), second.GetCreated().AsTime())
	}
}

// Where the clock steps while a process runs, its monotonic clock does not. A latest time with a reading of that one
// would count as earlier than the first after a step back. `make faults` steps the clock of a process.
func TestTimesOfRecordsAreThoseOfTheWallClock(t *testing.T) {
	var s stamps
	s.next(time.Now())
	if text := s.latest.String(); strings.Contains(text, " m=") {
		t.Errorf("%s has a reading of the monotonic clock", text)
	}
}

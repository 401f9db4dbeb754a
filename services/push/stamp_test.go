package push

import (
	"testing"
	"time"
)

// A clock that was two hours ahead and was set back: what was applied meanwhile does not hold up what comes after, and
// it is known which was the later.
func TestAClockThatWasAheadHoldsUpNoChangeSet(t *testing.T) {
	w := newWorld(t)
	now := w.push.now
	w.push.now = func() time.Time { return now().Add(2 * time.Hour) }
	w.verify("day-1")
	first := w.record()
	w.push.now = now
	w.plans.set("heavier")
	w.verify("day-2")
	second := w.record()
	if !second.GetCreated().AsTime().After(first.GetCreated().AsTime()) || !after(second, first) {
		t.Errorf("%s was made at %s and the one after it at %s", first.GetId(), first.GetCreated().AsTime(), second.GetCreated().AsTime())
	}
}

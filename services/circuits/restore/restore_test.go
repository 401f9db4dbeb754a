package restore

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/life"
)

// lost is a circuit from 1000 to 9000 that carried traffic, and lost its path at 2000.
func lost(change func(*Circuit)) Circuit {
	c := Circuit{ID: "c", Priority: Last, Lost: 2000, Life: life.Circuit{State: life.Interrupted, Gone: true, Start: 1000, End: 9000}}
	change(&c)
	return c
}

func TestDue(t *testing.T) {
	const after, seen = 3, 40
	for name, c := range map[string]struct {
		now    int64
		change func(*Circuit)
		want   bool
	}{
		"its link is gone for long enough":           {2003, func(*Circuit) {}, true},
		"its link is not gone for long enough":       {2002, func(*Circuit) {}, false},
		"it is to wait for its link":                 {2500, func(c *Circuit) { c.Hold = true }, false},
		"a change set of it is on its way":           {2500, func(c *Circuit) { c.Life.Open = true }, false},
		"its path is back":                           {2500, func(c *Circuit) { c.Life.Gone = false }, false},
		"it is active":                               {2500, func(c *Circuit) { c.Life.State = life.Active }, false},
		"it is held and not committed":               {2500, func(c *Circuit) { c.Life.State = life.Held }, false},
		"it is being given to routers":               {2500, func(c *Circuit) { c.Life.State = life.Provisioning }, false},
		"it is over":                                 {9000, func(*Circuit) {}, false},
		"it begins soon":                             {2003, func(c *Circuit) { c.Life.State, c.Life.Start = life.Committed, 2003+Ahead }, true},
		"it begins later":                            {2003, func(c *Circuit) { c.Life.State, c.Life.Start = life.Committed, 2004+Ahead }, false},
		"it was tried, and nothing has changed":      {2900, func(c *Circuit) { c.Tries = Tries{1, 2003, seen} }, false},
		"it was tried, and something has changed":    {2004, func(c *Circuit) { c.Tries = Tries{1, 2003, seen - 1} }, true},
		"something has changed in the same second":   {2003, func(c *Circuit) { c.Tries = Tries{1, 2003, seen - 1} }, false},
		"it was tried three times, 3 seconds before": {2006, func(c *Circuit) { c.Tries = Tries{3, 2003, seen - 1} }, false},
		"it was tried three times, 4 seconds before": {2007, func(c *Circuit) { c.Tries = Tries{3, 2003, seen - 1} }, true},
		"it was tried very often, a minute before":   {2066, func(c *Circuit) { c.Tries = Tries{99, 2003, seen - 1} }, false},
		"it was tried very often, longer before":     {2067, func(c *Circuit) { c.Tries = Tries{99, 2003, seen - 1} }, true},
	} {
		if got := Due([]Circuit{lost(c.change)}, c.now, after, seen); (len(got) == 1) != c.want {
			t.Errorf("%s: %v, want it due: %t", name, got, c.want)
		}
	}
}

func TestWhatIsTriedInVainWaitsLongerEachTime(t *testing.T) {
	for count, want := range []int64{0, 1, 2, 4, 8, 16, 32, 64, 64, 64} {
		if got := (Tries{Count: count}).wait(); got != want {
			t.Errorf("after %d tries %d s, want %d", count, got, want)
		}
	}
}

func TestTheFirstPriorityIsFirstAndThenWhoWasFirst(t *testing.T) {
	var all []Circuit
	for _, c := range []struct {
		id                string
		priority, created int64
	}{{"late", 5, 30}, {"second", 5, 20}, {"first", 5, 20}, {"urgent", 0, 99}, {"last", Last, 1}} {
		all = append(all, lost(func(l *Circuit) { l.ID, l.Priority, l.Created = c.id, c.priority, c.created }))
	}
	var ids []string
	for _, c := range Due(all, 2500, 0, 0) {
		ids = append(ids, c.ID)
	}
	if want := []string{"urgent", "first", "second", "late", "last"}; !slices.Equal(ids, want) {
		t.Errorf("%v, want %v", ids, want)
	}
}

package follow

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	noon    = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	ge1     = Port{"wr", "ge-1"}
	ge2     = Port{"wr", "ge-2"}
	manners = Manners{AfterPerson: 24 * time.Hour, Patience: 4 * time.Hour, Retry: 30 * time.Minute}
)

func ago(h float64) time.Time { return noon.Add(-time.Duration(h * float64(time.Hour))) }

// change is one of ours, requested so many hours ago, that gives ge-1 a share.
func change(id string, hours float64, share int, outcome Outcome) Change {
	c := Change{ID: id, Ours: true, Author: "split", Created: ago(hours), Outcome: outcome, Splits: map[Port]int{ge1: share}}
	switch outcome {
	case InForce:
		c.Forced = c.Created.Add(time.Minute)
	case Failed:
		c.Ended, c.Note = c.Created.Add(time.Minute), "er does not answer"
	}
	return c
}

func by(c Change, author string) Change {
	c.Ours, c.Author = false, author
	return c
}

// undone was rolled back by ann so many hours ago.
func undone(c Change, hours float64) Change {
	c.Forced, c.Ended, c.By, c.Outcome = c.Created.Add(time.Minute), ago(hours), "ann", Undone
	return c
}

// planned so many hours ago, and in force a minute later.
func planned(c Change, hours float64) Change {
	c.Planned, c.Forced = ago(hours), ago(hours).Add(time.Minute)
	return c
}

func aborted(c Change) Change {
	c.By = "ann"
	return c
}

func TestWhatChangeSetsSayOfAPort(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes []Change
		share   int
		since   float64 // hours ago; 0: never
		asked   int
		gaveUp  float64
		open    string
		until   float64 // hours from now; 0: not held
		held    string
	}{
		{name: "none", share: 5},
		{name: "one in force", changes: []Change{change("a", 2, 30, InForce)}, share: 30, since: 2, asked: 1},
		{name: "the newest counts, in whatever order they come", changes: []Change{change("b", 1, 40, InForce), change("a", 2, 30, InForce)}, share: 40, since: 1, asked: 2},
		{name: "of more than a day ago none is counted", changes: []Change{change("a", 24, 30, InForce)}, share: 30, since: 24},
		{name: "one that moves another port moves not this one", changes: []Change{change("a", 3, 30, InForce), {ID: "b", Ours: true, Created: ago(1), Forced: ago(1), Outcome: InForce, Splits: map[Port]int{ge1: 30, ge2: 20}}}, share: 30, since: 3, asked: 1},
		{name: "a proposal waits", changes: []Change{change("a", 2, 30, Waiting)}, share: 5, asked: 1, open: "a"},
		{name: "and nobody answers for hours", changes: []Change{change("a", 4, 30, Waiting)}, share: 5, asked: 1, gaveUp: 0.001},
		{name: "one waits for the maintenance window, however long it is closed", changes: []Change{change("a", 9, 30, Scheduled)}, share: 5, asked: 1, open: "a"},
		{name: "and is outdated meanwhile", changes: []Change{change("a", 9, 30, Scheduled), by(change("b", 1, 5, InForce), "bob")}, share: 5, asked: 1},
		{name: "a person's waits, too", changes: []Change{by(change("a", 2, 30, Waiting), "bob")}, share: 5, open: "a"},
		{name: "for hours, too", changes: []Change{by(change("a", 5, 30, Waiting), "bob")}, share: 5},
		{name: "a proposal that another change set outdated waits for nobody", changes: []Change{change("a", 2, 30, Waiting), by(change("b", 1, 5, InForce), "bob")}, share: 5, asked: 1},
		{name: "which says something of the port, too", changes: []Change{change("a", 2, 30, Waiting), by(change("b", 1, 50, InForce), "bob")}, share: 50, since: 1, asked: 1, until: 23, held: "bob gave beta 50 % with change set b"},
		{name: "one that moves only another port, and one that moves this", changes: []Change{{ID: "a", Ours: true, Created: ago(3), Forced: ago(3), Outcome: InForce, Splits: map[Port]int{ge2: 20}}, change("b", 1, 30, InForce)}, share: 30, since: 1, asked: 1},
		{name: "one is applied, however long it takes", changes: []Change{change("a", 9, 30, Running)}, share: 5, asked: 1, open: "a"},
		{name: "a person gave it a share", changes: []Change{change("a", 3, 30, InForce), by(change("b", 1, 50, InForce), "bob")}, share: 50, since: 1, asked: 1, until: 23, held: "bob gave beta 50 % with change set b"},
		{name: "a person's change set that leaves it as it is says nothing", changes: []Change{change("a", 3, 30, InForce), by(change("b", 1, 30, InForce), "bob")}, share: 30, since: 3, asked: 1},
		{name: "a person took it off", changes: []Change{change("a", 3, 30, InForce), {ID: "b", Author: "bob", Created: ago(1), Planned: ago(1), Forced: ago(1), Outcome: InForce}}, share: 5, since: 1, asked: 1, until: 23, held: "bob gave beta 5 % with change set b"},
		{name: "a person rolled it back", changes: []Change{change("a", 8, 20, InForce), undone(change("b", 3, 30, Undone), 2)}, share: 20, since: 2, asked: 2, until: 22, held: "ann rolled back change set b"},
		{name: "two days ago", changes: []Change{undone(change("b", 49, 30, Undone), 48)}, share: 5, since: 48, until: -24, held: "ann rolled back change set b"},
		{name: "a person aborted it", changes: []Change{aborted(change("a", 2, 30, Failed))}, share: 5, asked: 1, gaveUp: 2, until: 22, held: "ann aborted change set a"},
		{name: "it failed", changes: []Change{change("a", 0.25, 30, Failed)}, share: 5, asked: 1, gaveUp: 0.25, until: 0.25, held: "change set a failed: er does not answer"},
		{name: "and again, and again", changes: []Change{change("a", 3, 30, Failed), change("b", 2, 30, Failed), change("c", 1, 30, Failed)}, share: 5, asked: 3, gaveUp: 1, until: 1, held: "change set c failed"},
		{name: "for days", changes: []Change{change("a", 5, 30, Failed), change("b", 4, 30, Failed), change("c", 3, 30, Failed), change("d", 2, 30, Failed), change("e", 1.5, 30, Failed), change("f", 1, 30, Failed), change("g", 0.5, 30, Failed)}, share: 5, asked: 7, gaveUp: 0.5, until: 23.5, held: "change set g failed"},
		{name: "what succeeds ends the count", changes: []Change{change("a", 9, 30, Failed), change("b", 8, 30, Failed), change("c", 7, 30, InForce), change("d", 0.5, 40, Failed)}, share: 30, since: 7, asked: 4, gaveUp: 0.5, until: 0.001, held: "change set d failed"},
		{name: "a draft that waited is in force, not the one that was requested after it", changes: []Change{planned(change("a", 3, 30, InForce), 1), change("b", 2, 40, InForce)}, share: 30, since: 1, asked: 2},
		{name: "the night's draft waited, and has the share that came meanwhile", changes: []Change{planned(by(change("night", 3, 30, InForce), "nightly"), 1), change("b", 2, 30, InForce)}, share: 30, since: 2, asked: 1},
		{name: "a proposal that was planned after what is in force is not outdated", changes: []Change{{ID: "a", Ours: true, Created: ago(3), Planned: ago(1), Outcome: Waiting, Splits: map[Port]int{ge1: 30}}, by(change("b", 2, 5, InForce), "bob")}, share: 5, asked: 1, open: "a"},
		{name: "of another port, and not planned: it says nothing of this one", changes: []Change{change("a", 3, 30, InForce), {ID: "b", Ours: true, Created: ago(0.5), Ended: ago(0.5), Outcome: Failed, Splits: map[Port]int{ge2: 20}}}, share: 30, since: 3, asked: 1},
		{name: "a draft of another port that waits", changes: []Change{change("a", 3, 30, InForce), {ID: "b", Ours: true, Created: ago(0.5), Outcome: Running, Splits: map[Port]int{ge2: 20}}}, share: 30, since: 3, asked: 1},
		{name: "of this port, and not planned", changes: []Change{change("a", 3, 30, InForce), change("b", 0.25, 40, Failed)}, share: 30, since: 3, asked: 2, gaveUp: 0.25, until: 0.25, held: "change set b failed"},
		{name: "a person's change set that failed is his", changes: []Change{by(change("a", 1, 30, Failed), "bob")}, share: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := manners.PastOf(c.changes, ge1, 5, noon)
			if p.Share != c.share || len(p.Asked) != c.asked {
				t.Errorf("%d %%, asked %d times", p.Share, len(p.Asked))
			}
			near := func(what string, got time.Time, hours float64) {
				t.Helper()
				if hours == 0 != got.IsZero() || hours != 0 && got.Sub(noon.Add(time.Duration(hours*float64(time.Hour)))).Abs() > 2*time.Minute {
					t.Errorf("%s %v", what, got)
				}
			}
			near("since", p.Since, -c.since)
			near("gave up", p.GaveUp, -c.gaveUp)
			near("until", p.Until, c.until)
			if (p.Open != nil) != (c.open != "") || p.Open != nil && p.Open.ID != c.open {
				t.Errorf("open: %+v", p.Open)
			}
			if !strings.HasPrefix(p.Held, c.held) || c.held == "" && p.Held != "" {
				t.Errorf("held: %q", p.Held)
			}
		})
	}
}

func TestSplitsInForce(t *testing.T) {
	old, recent := change("a", 3, 30, InForce), change("b", 1, 40, InForce)
	if got := SplitsAt([]Change{recent, old}, noon); got[ge1] != 40 {
		t.Errorf("now: %v", got)
	}
	if got := SplitsAt([]Change{recent, planned(old, 0.5)}, noon); got[ge1] != 30 {
		t.Errorf("now, where the older one was planned last: %v", got)
	}
	if got := SplitsAt([]Change{recent, old}, ago(2)); got[ge1] != 30 {
		t.Errorf("two hours ago: %v", got)
	}
	if got := SplitsAt([]Change{recent, old}, ago(4)); got != nil {
		t.Errorf("before the first: %v", got)
	}
}

func TestTheSharesThatAPortHad(t *testing.T) {
	early := change("c", 6, 35, InForce)
	early.Forced = ago(1)
	for _, c := range []struct {
		name    string
		changes []Change
		steps   string
	}{
		{"none", nil, "5"},
		{"one", []Change{change("a", 2, 30, InForce)}, "5 30@2"},
		{"one that failed", []Change{change("a", 2, 30, Failed)}, "5"},
		{"two, and one that leaves it as it is", []Change{change("a", 3, 30, InForce), change("b", 2, 30, InForce), change("c", 1, 40, InForce)}, "5 30@3 40@1"},
		{"one rolled back", []Change{change("a", 8, 20, InForce), undone(change("b", 3, 30, Undone), 2)}, "5 20@8 30@3 20@2"},
		{"the first rolled back, which was not in force any more", []Change{undone(change("a", 8, 20, Undone), 1), change("b", 3, 30, InForce)}, "5 20@8 30@3"},
		{"all rolled back", []Change{undone(change("a", 8, 20, Undone), 1)}, "5 20@8 5@1"},
		{"one that was planned late", []Change{planned(change("a", 3, 30, InForce), 1), change("b", 2, 40, InForce)}, "5 40@2 30@1"},
		{"one that came late is of what was before", []Change{early, change("d", 5, 40, InForce)}, "5 40@5"},
	} {
		var got []string
		for _, s := range manners.PastOf(c.changes, ge1, 5, noon).Steps {
			if s.Since.IsZero() {
				got = append(got, fmt.Sprint(s.Share))
				continue
			}
			got = append(got, fmt.Sprintf("%d@%.0f", s.Share, noon.Sub(s.Since).Hours()))
		}
		if steps := strings.Join(got, " "); steps != c.steps {
			t.Errorf("%s: %s, want %s", c.name, steps, c.steps)
		}
	}
}

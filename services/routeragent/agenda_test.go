package routeragent

import (
	"testing"
	"time"
)

// Routes that change without an end put no look at the router off.
func TestChangesBringTheNextLookForward(t *testing.T) {
	start := time.Unix(1000, 0)
	a := agenda{next: start.Add(inspect)}
	last := start
	for at := start; at.Before(start.Add(time.Minute)); at = at.Add(300 * time.Millisecond) {
		if !a.due().After(at) {
			if at.Sub(last) > settle+quiet {
				t.Errorf("not looked from %s to %s", last.Sub(start), at.Sub(start))
			}
			last = at
			a.looked(at, true)
		}
		a.change(at)
		if due := a.due(); due.Before(at) || due.After(at.Add(quiet)) {
			t.Errorf("changed at %s, looked at only at %s", at.Sub(start), due.Sub(start))
		}
	}
	if last.Before(start.Add(50 * time.Second)) {
		t.Errorf("looked last at %s of a minute", last.Sub(start))
	}
}

func TestTheNextLookWaitsUntilChangesAreOver(t *testing.T) {
	start := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		next    time.Duration
		changes []time.Duration
		want    time.Duration
	}{
		"no change":                  {inspect, nil, inspect},
		"one":                        {inspect, []time.Duration{0}, quiet},
		"a burst":                    {inspect, []time.Duration{0, quiet / 2}, quiet * 3 / 2},
		"a burst before a retry":     {quiet / 2, []time.Duration{0, quiet / 4}, quiet / 2},
		"changes longer than settle": {inspect, []time.Duration{0, settle - quiet/2}, settle},
	} {
		a := agenda{next: start.Add(c.next)}
		for _, at := range c.changes {
			a.change(start.Add(at))
		}
		if got := a.due().Sub(start); got != c.want {
			t.Errorf("%s: looks at %s, want %s", name, got, c.want)
		}
		if a.looked(start, true); a.changed() || !a.due().Equal(start.Add(inspect)) {
			t.Errorf("%s: still to be looked at", name)
		}
		if a.within(start.Add(time.Second)); !a.due().Equal(start.Add(time.Second)) {
			t.Errorf("%s: not brought forward", name)
		}
	}
}

// Changes that concern nothing are over without a look, and put off none.
func TestChangesThatConcernNothingPutOffNoLook(t *testing.T) {
	start := time.Unix(1000, 0)
	a := agenda{next: start.Add(inspect)}
	for at := start; at.Before(start.Add(inspect - quiet)); at = at.Add(settle) {
		a.change(at)
		if !a.early(at.Add(quiet)) {
			t.Errorf("the changes at %s are not early", at.Sub(start))
		}
		if a.pass(); a.changed() || !a.due().Equal(start.Add(inspect)) {
			t.Errorf("after the changes at %s looks at %s", at.Sub(start), a.due().Sub(start))
		}
	}
	a.change(start.Add(inspect))
	if a.early(start.Add(inspect)) {
		t.Error("a look that is due is early")
	}
	if a.pass(); a.early(start) {
		t.Error("without a change a look is early")
	}
}

// While looks fail, changes bring the next one no nearer than 15 s after the last: what is missing may be missing for
// ever, and routes change all the time.
func TestChangesDoNotEndTheWaitAfterLooksThatFailed(t *testing.T) {
	end := time.Unix(1000, 0)
	const none = -1
	for _, c := range []struct {
		name         string
		failed       int
		after        bool // another look that did not
		change, want time.Duration
	}{
		{name: "none failed", change: 0, want: quiet},
		{name: "one failed, no change", failed: 1, change: none, want: retry},
		{name: "one failed", failed: 1, change: 0, want: retry},
		{name: "two failed", failed: 2, change: 0, want: 10 * time.Second},
		{name: "three failed", failed: 3, change: 0, want: pace},
		{name: "many failed", failed: 9, change: 0, want: pace},
		{name: "many failed, a change before 15 s", failed: 9, change: pace - quiet/2, want: pace + quiet/2},
		{name: "many failed, a late change", failed: 9, change: 40 * time.Second, want: 41 * time.Second},
		{name: "many failed, no change", failed: 9, change: none, want: maxRetry},
		{name: "many failed, and then one did not", failed: 9, after: true, change: 0, want: quiet},
	} {
		var a agenda
		for range c.failed {
			a.looked(end, false)
		}
		if c.failed == 0 || c.after {
			a.looked(end, true)
		}
		if c.change != none {
			a.change(end.Add(c.change))
		}
		if got := a.due().Sub(end); got != c.want {
			t.Errorf("%s: looks after %s, want %s", c.name, got, c.want)
		}
	}
}

func TestLooksThatFailAreFewWhileRoutesChangeAllTheTime(t *testing.T) {
	at := time.Unix(1000, 0)
	a, looks := agenda{next: at}, 0
	for end := at.Add(10 * time.Minute); at.Before(end); at = at.Add(300 * time.Millisecond) {
		if !a.due().After(at) {
			a.looked(at, false)
			looks++
		}
		a.change(at)
	}
	if looks < 35 || looks > 45 {
		t.Errorf("%d looks in 10 minutes", looks)
	}
}

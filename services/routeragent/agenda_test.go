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
			a.looked(at.Add(inspect))
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
		if a.looked(start.Add(time.Hour)); a.changed() || !a.due().Equal(start.Add(time.Hour)) {
			t.Errorf("%s: still to be looked at", name)
		}
		if a.within(start.Add(time.Minute)); !a.due().Equal(start.Add(time.Minute)) {
			t.Errorf("%s: not brought forward", name)
		}
	}
}

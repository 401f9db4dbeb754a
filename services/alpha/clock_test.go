package alpha

import (
	"context"
	"testing"
	"time"
)

func TestWhenANightIsDue(t *testing.T) {
	at, err := parseTimeOfDay("02:00")
	if err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	clock := func(d, h, m int) time.Time { return time.Date(2026, 11, d, h, m, 0, 0, time.UTC) }
	for name, tc := range map[string]struct {
		now, last time.Time
		run       bool
		newLast   time.Time
	}{
		"the first start waits for its first night": {clock(20, 12, 0), time.Time{}, false, clock(20, 12, 0)},
		"before the time": {clock(21, 1, 59), clock(20, 2, 0), false, clock(20, 2, 0)},
		"at the time":     {clock(21, 2, 0), clock(20, 2, 0), true, clock(21, 2, 0)},
		"once a night":    {clock(21, 2, 1), clock(21, 2, 0), false, clock(21, 2, 0)},
		"a night missed while the process was down is made up": {clock(21, 9, 0), clock(20, 2, 0), true, clock(21, 9, 0)},
		"ten nights missed are made up by one":                 {clock(30, 9, 0), clock(20, 2, 0), true, clock(30, 9, 0)},
		"a clock set back forgets the night in the future":     {clock(20, 12, 0), clock(29, 2, 0), false, clock(20, 12, 0)},
		"and the next night is the next time of day":           {clock(21, 2, 0), clock(20, 12, 0), true, clock(21, 2, 0)},
		"a time that summer time skips comes an hour later": {
			time.Date(2026, 3, 29, 3, 0, 0, 0, berlin), time.Date(2026, 3, 28, 2, 0, 0, 0, berlin), true, time.Date(2026, 3, 29, 3, 0, 0, 0, berlin)},
	} {
		run, newLast := at.due(tc.now, tc.last)
		if run != tc.run || !newLast.Equal(tc.newLast) {
			t.Errorf("%s: %v, %v; want %v, %v", name, run, newLast, tc.run, tc.newLast)
		}
	}
	if _, err := parseTimeOfDay("2 am"); err == nil {
		t.Error(`"2 am" was accepted`)
	}
}

func TestTheClockStartsOneNightOfTwoReplicas(t *testing.T) {
	store := etcd(t)
	cfg := DefaultConfiguration()
	one, two := newRigOn(t, cfg, store), newRigOn(t, cfg, store)
	for _, r := range []*rig{one, two} {
		r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
		r.now = noon
		r.c.runIfDue(t.Context())
	}
	if len(one.created)+len(two.created) != 0 {
		t.Fatal("a night ran before its time")
	}
	for _, r := range []*rig{one, two} {
		r.now = noon.Add(20 * time.Hour)
		r.c.runIfDue(t.Context())
	}
	if len(one.created)+len(two.created) != 1 {
		t.Errorf("%d change sets, want one: the night belongs to whoever wrote the schedule first", len(one.created)+len(two.created))
	}
}

func TestStartAndStopLeaveNothingBehind(t *testing.T) {
	r := newRig(t, nil)
	if err := r.c.Stop(context.Background()); err != nil {
		t.Errorf("stop before start: %v", err)
	}
	if err := r.c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.c.loops.Context().Err() == nil {
		t.Error("the clock is still watched after Stop")
	}
}

package alpha

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

func TestWhenARunIsDue(t *testing.T) {
	at, err := parseTimeOfDay("02:00")
	if err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	clock := func(d, h, m int) time.Time { return time.Date(2026, 11, d, h, m, 0, 0, time.UTC) }
	// failed is the schedule of a run that fell due at 02:00 of the 21st and failed so often.
	failed := func(attempts uint32, next time.Time) schedule {
		return schedule{last: clock(20, 2, 0), attempts: attempts, nextAttempt: next}
	}
	for name, tc := range map[string]struct {
		now  time.Time
		was  schedule
		run  bool
		next schedule
	}{
		"the first start waits for its first nightly run": {clock(20, 12, 0), schedule{}, false, schedule{last: clock(20, 12, 0)}},
		"before the time": {clock(21, 1, 59), schedule{last: clock(20, 2, 0)}, false, schedule{last: clock(20, 2, 0)}},
		"at the time":     {clock(21, 2, 0), schedule{last: clock(20, 2, 0)}, true, failed(1, clock(21, 2, 5))},
		"once a day":      {clock(21, 2, 1), schedule{last: clock(21, 2, 0)}, false, schedule{last: clock(21, 2, 0)}},
		"a nightly run missed while the process was down is made up": {clock(21, 9, 0), schedule{last: clock(20, 2, 0)}, true, failed(1, clock(21, 9, 5))},
		"ten nightly runs missed are made up by one":                 {clock(30, 9, 0), schedule{last: clock(20, 2, 0)}, true, failed(1, clock(30, 9, 5))},
		"while another replica may be at it":                         {clock(21, 2, 4), failed(1, clock(21, 2, 5)), false, failed(1, clock(21, 2, 5))},
		"a nightly run that failed, or crashed, is tried again":      {clock(21, 2, 5), failed(1, clock(21, 2, 5)), true, failed(2, clock(21, 2, 15))},
		"later and later":                                        {clock(21, 2, 15), failed(2, clock(21, 2, 15)), true, failed(3, clock(21, 2, 35))},
		"but every hour at least":                                {clock(21, 9, 0), failed(40, clock(21, 9, 0)), true, failed(41, clock(21, 10, 0))},
		"a clock set back forgets the pause":                     {clock(21, 2, 10), failed(3, clock(25, 9, 0)), true, failed(4, clock(21, 2, 50))},
		"a clock set back forgets the nightly run in the future": {clock(20, 12, 0), schedule{last: clock(29, 2, 0), end: clock(29, 2, 0)}, false, schedule{last: clock(20, 12, 0), end: clock(20, 12, 0)}},
		"a clock that is a minute behind that of who ran":        {clock(21, 1, 59), schedule{last: clock(21, 2, 0)}, false, schedule{last: clock(21, 2, 0)}},
		"and has come to the time":                               {clock(21, 2, 0), schedule{last: clock(21, 2, 0).Add(4 * time.Second)}, false, schedule{last: clock(21, 2, 0).Add(4 * time.Second)}},
		"a clock that was set back by more":                      {clock(21, 1, 59), schedule{last: clock(21, 2, 0).Add(time.Second)}, false, schedule{last: clock(21, 1, 59)}},
		"and the next nightly run is the next time of day":       {clock(21, 2, 0), schedule{last: clock(20, 12, 0)}, true, schedule{last: clock(20, 12, 0), attempts: 1, nextAttempt: clock(21, 2, 5)}},
		"a time that summer time skips comes an hour later": {
			time.Date(2026, 3, 29, 3, 0, 0, 0, berlin), schedule{last: time.Date(2026, 3, 28, 2, 0, 0, 0, berlin)}, true,
			schedule{last: time.Date(2026, 3, 28, 2, 0, 0, 0, berlin), attempts: 1, nextAttempt: time.Date(2026, 3, 29, 3, 5, 0, 0, berlin)}},
	} {
		run, next := at.due(tc.now, tc.was)
		if run != tc.run || !next.equal(tc.next) {
			t.Errorf("%s: %v, %+v; want %v, %+v", name, run, next, tc.run, tc.next)
		}
	}
	if _, err := parseTimeOfDay("2 am"); err == nil {
		t.Error(`"2 am" was accepted`)
	}
}

// TestClocksThatDifferMakeOneRun: one replica runs, and the other's clock, which is 8 s behind, has yet to come to the
// time.
func TestClocksThatDifferMakeOneRun(t *testing.T) {
	at := timeOfDay{2, 0}
	two := time.Date(2026, 11, 10, 2, 0, 0, 0, time.UTC)
	run, s := at.due(two.Add(time.Second), schedule{last: two.Add(-day), end: two.Add(-day)})
	if !run {
		t.Fatal("the first does not run")
	}
	s = s.done(two.Add(4 * time.Second))
	for behind := two.Add(-3 * time.Second); behind.Before(two.Add(day - time.Minute)); behind = behind.Add(30 * time.Second) {
		if run, s = at.due(behind, s); run {
			t.Fatalf("the other runs again at %v", behind)
		}
	}
	if run, _ = at.due(two.Add(day), s); !run {
		t.Error("nobody runs the day after")
	}
}

// TestNightlyRunsLeaveNoFlowOut follows windows through days of 23, 24 and 25 hours, runs that fail and runs by hand.
func TestNightlyRunsLeaveNoFlowOut(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfiguration()
	two := func(month time.Month, d int) time.Time { return time.Date(2026, month, d, 2, 0, 0, 0, berlin) }
	for name, tc := range map[string]struct {
		now, end      time.Time
		from, skipped time.Time
	}{
		"the first nightly run":                 {two(11, 21), time.Time{}, two(11, 20), time.Time{}},
		"a day of 24 hours":                     {two(11, 21), two(11, 20), two(11, 20).Add(-2 * time.Hour), time.Time{}},
		"a day of 25 hours":                     {two(10, 26), two(10, 25), two(10, 25).Add(-2 * time.Hour), time.Time{}},
		"a day of 23 hours":                     {two(3, 30), two(3, 29), two(3, 30).Add(-25 * time.Hour), time.Time{}},
		"a nightly run by hand in between":      {two(11, 21), two(11, 21).Add(-time.Hour), two(11, 20), time.Time{}},
		"three nightly runs that failed":        {two(11, 21), two(11, 17), two(11, 17).Add(-2 * time.Hour), time.Time{}},
		"more than a nightly run may look back": {two(11, 21), two(11, 11), two(11, 14), two(11, 11)},
		"an end in the future was a bad clock":  {two(11, 21), two(11, 25), two(11, 20), time.Time{}},
	} {
		from, skipped := start(cfg, tc.now, tc.end)
		if !from.Equal(tc.from) || !skipped.Equal(tc.skipped) {
			t.Errorf("%s: from %v, skipped %v; want %v, %v", name, from, skipped, tc.from, tc.skipped)
		}
	}
}

func TestARunThatFailsIsTriedAgainOverTheSameFlows(t *testing.T) {
	r := newRig(t, func(c *Configuration) { c.NightlyAt = "02:00" })
	at := func(d, h, m int) time.Time { return time.Date(2026, 11, d, h, m, 0, 0, time.UTC) }
	run := func(now time.Time) {
		r.now = now
		r.c.runIfDue(t.Context())
	}
	run(at(19, 12, 0))
	r.flow(wr, "10.1.0.5", "10.2.0.9", at(19, 23, 0), 2e9) // before the first nightly run, and found by it
	run(at(20, 2, 0))
	if len(r.created) != 1 {
		t.Fatalf("%d change sets after the first nightly run, want one", len(r.created))
	}
	r.flow(wr, "10.1.0.5", "10.7.0.9", at(20, 2, 1), 2e9)  // first minutes of the second run's window
	r.flow(wr, "10.1.0.5", "10.8.0.9", at(20, 1, 59), 2e9) // came after the run that judged its time
	r.storeFails = 2
	run(at(21, 2, 0))
	r.heard(t, "nightly-failed")
	run(at(21, 2, 4))
	if r.storeFails != 1 {
		t.Error("tried again before the pause was over")
	}
	run(at(21, 2, 5))
	run(at(21, 2, 15))
	if len(r.created) != 2 || len(r.list(t)) != 3 {
		t.Errorf("%d change sets, %d pairs; want 2 and 3: the third attempt finds what the first would have", len(r.created), len(r.list(t)))
	}
	run(at(21, 3, 0))
	if from := r.asked.GetFrom().AsTime(); !from.Equal(at(20, 0, 0)) {
		t.Errorf("the last run read from %v, want 2 h before the end of the first nightly run, and no run after it", from)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := r.texts[slices.Index(r.codes, "nightly-failed")]; !strings.Contains(text, "Attempt 2 is made at 2026-11-21 02:05:00 UTC") {
		t.Errorf("event %q does not say when it is tried again", text)
	}
}

// TestARunWithoutAnyFlowIsLookedAtAgain: the store may be behind.
func TestARunWithoutAnyFlowIsLookedAtAgain(t *testing.T) {
	r := newRig(t, nil)
	r.nightly(t, nightlyRun())
	end := r.now
	r.now, r.noFlows = r.now.Add(day), true
	r.nightly(t, nightlyRun())
	r.heard(t, "exporter-refused")
	r.now, r.noFlows = r.now.Add(day), false
	r.nightly(t, nightlyRun())
	if from := r.asked.GetFrom().AsTime(); !from.Equal(end.Add(-2 * time.Hour)) {
		t.Errorf("read from %v, want from before %v, where the last nightly run with flows ended", from, end)
	}
}

// TestOnlyRegularNightlyRunsMoveTheWindow: one with another rule, or over other days, has judged nothing for
// the others.
func TestOnlyRegularNightlyRunsMoveTheWindow(t *testing.T) {
	for name, req := range map[string]*alphav1.NightlyRequest{
		"a dry run":           {DryRun: true},
		"another threshold":   {MinBytes: proto.Uint64(1e12)},
		"a window of an hour": {From: timestamppb.New(noon.Add(11 * time.Hour))},
		"yesterday":           {To: timestamppb.New(noon)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.nightly(t, req)
			if s, _, err := r.c.schedule(t.Context()); err != nil || !s.end.IsZero() {
				t.Errorf("judged up to %v, %v; want nothing", s.end, err)
			}
		})
	}
}

func TestTheClockStartsOneRunOfTwoReplicas(t *testing.T) {
	store := etcd(t)
	cfg := DefaultConfiguration()
	one, two := newRigOn(t, cfg, store), newRigOn(t, cfg, store)
	for _, r := range []*rig{one, two} {
		r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
		r.now = noon
		r.c.runIfDue(t.Context())
	}
	if len(one.created)+len(two.created) != 0 {
		t.Fatal("a nightly run ran before its time")
	}
	for _, r := range []*rig{one, two} {
		r.now = noon.Add(20 * time.Hour)
		r.c.runIfDue(t.Context())
	}
	if len(one.created)+len(two.created) != 1 {
		t.Errorf("%d change sets, want one: the nightly run belongs to the replica that wrote the schedule first", len(one.created)+len(two.created))
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

package push

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/pushtest"
)

func TestAllowanceIsTheSizeByTheRate(t *testing.T) {
	path, kilo := "/p", strings.Repeat("x", 998)
	for name, c := range map[string]struct {
		changes []diff.Change
		want    time.Duration
	}{
		"nothing":                        {nil, 0},
		"an entry that is new":           {[]diff.Change{{Path: path, After: kilo}}, time.Second},
		"an entry that goes":             {[]diff.Change{{Path: path, Before: kilo}}, time.Second},
		"an entry that changes is one":   {[]diff.Change{{Path: path, Before: kilo, After: kilo[1:]}}, time.Second},
		"and its larger state counts":    {[]diff.Change{{Path: path, Before: "x", After: kilo}}, time.Second},
		"entries add up":                 {[]diff.Change{{Path: path, After: kilo}, {Path: path, Before: kilo}}, 2 * time.Second},
		"a small one is given next to 0": {[]diff.Change{{Path: path, After: "{}"}}, 4 * time.Millisecond},
	} {
		if got := allowance(c.changes, 1000); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What a change set of 20,000 pairs takes (5.5 MB in one policy, performance.md: 6 s in the router agent, on two
// processors) and what it may take.
func TestALargeChangeHasTimeOnARouterTenTimesAsSlow(t *testing.T) {
	cfg := DefaultConfiguration()
	large := []diff.Change{{Path: "/p", After: strings.Repeat("x", 5_500_000)}}
	if got := cfg.CommitTimeout + allowance(large, cfg.CommitRate); got < 60*time.Second {
		t.Errorf("a commit of 5.5 MB is given up after %s", got)
	}
}

// Routers that take as long as they may for each step are confirmed before the first of them rolls back by itself.
func TestRollbackWaitsForEveryWave(t *testing.T) {
	cfg := Configuration{RollbackAfter: 60 * time.Second, CommitTimeout: 30 * time.Second, VerifyFor: 20 * time.Second, CallTimeout: 10 * time.Second}
	var many []string
	extra := map[string]time.Duration{"b": 4 * time.Second, "c": 2 * time.Second}
	for i := range parallelRouters + 1 {
		many = append(many, fmt.Sprint(i))
	}
	for name, c := range map[string]struct {
		waves [][]string
		want  time.Duration
	}{
		"nobody": {nil, 60 * time.Second},
		"one router: commit, verification, confirmation": {[][]string{{"a"}}, 60 * time.Second},
		"one that is sent much has longer for both":      {[][]string{{"b"}}, 68 * time.Second},
		"of one wave the slowest counts":                 {[][]string{{"a", "b"}}, 68 * time.Second},
		"waves add up":                                   {[][]string{{"a"}, {"b"}, {"c"}}, (30 + 34 + 32 + 24 + 10) * time.Second},
		"more than are spoken to at once wait":           {[][]string{many}, (2*30 + 2*20 + 10) * time.Second},
	} {
		if got := rollbackAfter(cfg, c.waves, extra); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestWhatIsReadTakesLongerTheMoreThereIs: with one time-out for all sizes a large router could never be compared.
func TestWhatIsReadTakesLongerTheMoreThereIs(t *testing.T) {
	entries := map[string]string{}
	for i := range 1000 {
		entries[fmt.Sprintf("/%09d", i)] = "0123456789"
	}
	if got := allowanceOf(entries, 1000); got != 20*time.Second {
		t.Errorf("20,000 octets at 1000 a second have %s more, want 20s", got)
	}
}

// A router's timer begins when it has applied the commit, however long that took and whatever it waited for.
func TestARoutersTimeCountsFromItsAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	w.cfg.RollbackAfter, w.cfg.CommitTimeout, w.cfg.VerifyFor = 10*time.Hour, time.Minute, time.Minute
	w.start()
	must(t, w.command([]string{"create", "day-1"}), "planned")
	hold, verifying := w.routers["wr"].HoldAt(t, pushtest.BeforeCommit), w.routers["wr"].HoldAt(t, pushtest.Verifying)
	must(t, w.command([]string{"approve", "apply"}), "")
	await.Value(t, "wr is sent its commit", hold.Reached())
	if at := deviceOf(w.record(), "wr").GetRollbackAt().AsTime(); at.Before(w.now().Add(w.cfg.RollbackAfter + w.cfg.CommitTimeout)) {
		t.Errorf("while it is applied: %s from now", at.Sub(w.now()))
	}
	w.passed.Add(int64(30 * time.Second))
	hold.Release()
	w.command([]string{"await-router", "wr", "applied"})
	if at := deviceOf(w.record(), "wr").GetRollbackAt().AsTime(); !at.Equal(w.now().Add(w.cfg.RollbackAfter)) {
		t.Errorf("it answered now, and is recorded to wait for %s", at.Sub(w.now()))
	}
	verifying.Release()
	must(t, w.command([]string{"await", "verified"}), "verified")
}

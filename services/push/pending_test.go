package push

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/pushtest"
	"github.com/millrace/millrace/services/routeragent"
)

// A control plane whose clock is ahead thinks that er has rolled back what is pending there, by the record. er says
// that it is not so, and the change set waits until er's own timer has run.
func TestAClockThatIsAheadPlansNothingBesideAPendingCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	w.command([]string{"fault", "er", string(pushtest.DieAfterCommit)})
	must(t, w.command([]string{"approve", "apply"}), "")
	await.True(t, "er is down", w.routers["er"].IsDown)
	w.passed.Add(int64(24 * time.Hour))
	w.ends()
	w.routers["er"].Clear()
	w.routers["er"].Up(t)
	w.command([]string{"draft", "day-1-again"})
	w.awaitWait("router er")
	if !w.routers["er"].Pending() || w.routers["er"].Commits() != 1 {
		t.Fatalf("er has %d transactions, want one that is pending", w.routers["er"].Commits())
	}
	w.routers["er"].Expire()
	w.command([]string{"until", "planned"})
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	if n := len(w.routers["er"].Entries()); n == 0 {
		t.Errorf("er has no entries:\n%s", show(w.get()))
	}
}

// intruder commits something of another client's to a router while a plan reads it.
type intruder struct {
	driver.Opener
	first *atomic.Bool
}

func (i intruder) Open(ctx context.Context, d device.Device) (driver.Driver, error) {
	r, err := i.Opener.Open(ctx, d)
	return intruded{r, d.Name == "er" && i.first.CompareAndSwap(false, true)}, err
}

type intruded struct {
	driver.Driver
	now bool
}

func (i intruded) Snapshot(ctx context.Context) (driver.Snapshot, error) {
	if i.now {
		path := configentry.Queue.Path("te-alpha")
		theirs := driver.Commit{ID: "theirs", Rollback: time.Hour, Changes: []diff.Change{{Path: path, Encoding: configentry.JSONIETF, After: `{"name": "te-alpha"}`}}}
		if err := i.Driver.Commit(ctx, driver.Master{}, theirs); err != nil {
			return driver.Snapshot{}, err
		}
	}
	return i.Driver.Snapshot(ctx)
}

// A commit that arrives while a router is read is not what the router keeps, also where no record knows it.
func TestACommitThatArrivesDuringAPlanIsNoRunningConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	vendor := w.deps.Vendors[device.OSMillrace]
	vendor.Opener = intruder{Opener: vendor.Opener, first: &atomic.Bool{}}
	w.push.deps.Vendors = driver.Vendors{device.OSMillrace: vendor}
	w.command([]string{"draft", "day-1"})
	w.awaitWait("router er")
	w.routers["er"].Expire()
	w.command([]string{"until", "planned"})
	for _, e := range deviceOf(w.get(), "er").GetEntries() {
		if e.GetBefore() != "" {
			t.Errorf("%s was there when it was planned:\n%s", e.GetPath(), e.GetBefore())
		}
	}
}

// A control plane that may only read gets no answer to whether a commit is pending. It plans all the same, as before.
func TestAControlPlaneThatMayOnlyReadPlans(t *testing.T) {
	w, r := newRealWorld(t)
	r.stop()
	r.cfg.Roles = map[string]routeragent.Role{"operator": routeragent.RoleViewer}
	r.start()
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "failed"}), "failed")
}

// A router that does not know commit-confirm cannot say whether a commit is pending. It is planned, and refused before
// anything is sent.
func TestARouterThatCannotSayWhetherACommitIsPendingIsPlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.command([]string{"fault", "cr", string(pushtest.IgnoreExtensions)})
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "failed"}), "failed")
}

package push

import (
	"context"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/pushtest"
	"github.com/millrace/millrace/services/push/rollout"
)

// second starts another control plane on the same store and routers, as a rolling upgrade does.
func (w *world) second() *Component {
	w.t.Helper()
	c, err := New(w.cfg, w.deps)
	if err != nil {
		w.t.Fatal(err)
	}
	c.now = w.now
	if err := c.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Stop(context.Background()) }) //nolint:errcheck // it returns nil
	return c
}

func TestAControlPlaneThatStartsLeavesARunningChangeSetToTheOther(t *testing.T) {
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	w.routers["wr"].Inject(pushtest.HangAfterCommit)
	must(t, w.command([]string{"approve", "apply"}), "")
	await.True(t, "wr is being sent its part", w.routers["wr"].Hangs)
	second := w.second()
	if err := second.takeUp(t.Context(), w.id); err != nil { // it returns as soon as it saw the locks
		t.Fatal(err)
	}
	w.routers["wr"].TimeOut()
	must(t, w.command([]string{"await", "verified"}), "verified")
	for name, r := range w.routers {
		if r.Commits() != 1 || r.Pending() {
			t.Errorf("%s: %d transactions, pending %v", name, r.Commits(), r.Pending())
		}
	}
}

// A process records that it begins a change set, and then locks its routers. Another one that looks meanwhile leaves
// it; it takes it up once it has not gone on since the look before.
func TestWhatHasJustBegunIsLeft(t *testing.T) {
	var s stands
	at := func(steps int) *pushv1.ChangeSet {
		return &pushv1.ChangeSet{Id: "c", History: make([]*pushv1.Transition, steps)}
	}
	for n, look := range []struct {
		is    *pushv1.ChangeSet
		stood bool
	}{{at(3), false}, {at(3), true}, {at(4), false}, {at(4), true}, {at(4), true}} {
		if got := s.since([]*pushv1.ChangeSet{look.is})["c"]; got != look.stood {
			t.Errorf("look %d: %v", n+1, got)
		}
	}
	if s.since(nil); s.since([]*pushv1.ChangeSet{at(4)})["c"] {
		t.Error("a change set that was gone meanwhile stood still")
	}

	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	second := w.second()
	for _, kind := range []rollout.Kind{rollout.Approve, rollout.Apply} {
		if _, _, err := w.push.decide(t.Context(), w.id, rollout.Event{Kind: kind, By: "ann"}, alone); err != nil { // and no run
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := second.takeUpAll(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w.command([]string{"await", "failed"}), "failed")
}

// loseLocks is what the end of a lease does while the process that had it is stopped: the locks are free for others.
func (w *world) loseLocks() {
	w.t.Helper()
	locks, err := w.deps.State.List(w.t.Context(), keyLocks)
	if err != nil || len(locks) == 0 {
		w.t.Fatal(locks, err)
	}
	for _, l := range locks {
		if err := w.deps.State.Apply(w.t.Context(), state.Op{Key: l.Key}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// A process that was stopped for longer than its locks lived sends nothing more: its change set is taken up by
// another one, and what it has still under way is refused by the routers.
func TestARunThatLostItsLocksSendsNothingMore(t *testing.T) {
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	w.routers["er"].Inject(pushtest.HangAfterCommit)
	must(t, w.command([]string{"approve", "apply"}), "")
	await.True(t, "er is being sent its part", w.routers["er"].Hangs)
	w.loseLocks()
	w.routers["er"].TimeOut()
	await.True(t, "the run has ended", func() bool {
		done, free := w.push.active.take(w.id)
		if free {
			done()
		}
		return free
	})
	if got := w.record().GetState(); got != pushv1.State_STATE_APPLYING {
		t.Errorf("who lost its locks recorded %s", got)
	}
	if n := w.routers["wr"].Commits(); n != 0 {
		t.Errorf("wr was sent %d commits without a lock", n)
	}
	if err := w.second().takeUp(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
}

// The locks' revision goes to the routers as election id, so a later run is never below an earlier one.
func TestLaterRunsHaveHigherElectionIDs(t *testing.T) {
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	first := w.routers["er"].Election()
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	if second := w.routers["er"].Election(); first == 0 || second <= first {
		t.Errorf("the rollback had election id %d after %d", second, first)
	}
}

// While a change set has not ended, the commits on its routers may be its own: another one must wait, also
// where no process runs the first and its locks are free.
func TestNobodyChangesRoutersOfAChangeSetThatHasNotEnded(t *testing.T) {
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	first := w.id
	must(t, w.command([]string{"create", "day-2"}), "planned")
	must(t, w.command([]string{"approve"}), "")
	second := w.id
	must(t, w.command([]string{"use", "day-1"}), "")
	w.routers["er"].Inject(pushtest.HangAfterCommit)
	must(t, w.command([]string{"approve", "apply"}), "")
	await.True(t, "er is being sent its part", w.routers["er"].Hangs)
	w.loseLocks()
	w.routers["er"].TimeOut()
	// Once its run has ended, this process does not take it up, because the test has taken it.
	await.True(t, "the run has ended", func() bool { _, free := w.push.active.take(first); return free })
	w.id = second
	must(t, w.command([]string{"apply"}), "")
	must(t, w.command([]string{"await", "failed"}), "failed")
	for _, d := range w.record().GetDevices() {
		if d.GetCommitId() != "" {
			t.Errorf("%s was sent %s", d.GetDevice(), d.GetCommitId())
		}
	}
}

// A request whose write was answered too late, or a run that lost its locks, leaves a change set in motion
// that no process runs. The next look takes it up; no restart is needed.
func TestAChangeSetThatNobodyRunsIsTakenUpWithoutARestart(t *testing.T) {
	w := newWorld(t)
	w.stop()
	w.cfg.LockTTL = 2 * time.Second // it is looked for every half of that
	w.start()
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve"}), "")
	if _, _, err := w.push.decide(t.Context(), w.id, rollout.Event{Kind: rollout.Apply, By: "noc"}, alone); err != nil {
		t.Fatal(err)
	}
	must(t, w.command([]string{"await", "failed"}), "failed")
	for _, d := range w.record().GetDevices() {
		if d.GetCommitId() != "" {
			t.Errorf("%s was sent %s", d.GetDevice(), d.GetCommitId())
		}
	}
}

// The run of another control plane that has just ended has its locks for a moment more.
func TestARollbackWaitsForTheLocksOfTheRunBefore(t *testing.T) {
	w := newWorld(t)
	w.verify("day-1")
	w.stop()
	store, asked := w.deps.State, make(chan string, 100)
	w.deps.State = store.WithFaults(func(key string, value []byte) state.Fault {
		if key == keyLocks+"cr" && value != nil {
			asked <- key
		}
		return state.None
	})
	w.start()
	held, err := store.Lock(t.Context(), w.id+" other", w.cfg.LockTTL, lockKeys([]string{"cr", "er", "wr"})...)
	if err != nil {
		t.Fatal(err)
	}
	must(t, w.command([]string{"rollback"}), "")
	for range 2 { // the second is asked once the first was answered
		await.Value(t, "the lock is asked for", asked)
	}
	held.Release()
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
}

package push

import (
	"context"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/pushtest"
)

// storeFaults lets writes of the change set's record fail.
type storeFaults struct {
	mu sync.Mutex
	// fault befalls writes that when is true of, once or until cleared.
	fault state.Fault
	when  func(*pushv1.ChangeSet) bool
	once  bool
	seen  int
}

func (f *storeFaults) of(key string, value []byte) state.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := &pushv1.ChangeSet{}
	if f.fault == state.None || value == nil || key != recordPrefix+newID("day-1") || proto.Unmarshal(value, m) != nil || !f.when(m) {
		return state.None
	}
	fault := f.fault
	if f.seen++; f.once {
		f.fault = state.None
	}
	return fault
}

func (f *storeFaults) inject(fault state.Fault, once bool, when func(*pushv1.ChangeSet) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.once, f.when = fault, once, when
}

func (f *storeFaults) clear() { f.inject(state.None, false, nil) }

// count is how many writes failed.
func (f *storeFaults) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// takeUpOrphans is what the service does every half lock_ttl, once the run that lost its locks has ended.
func (w *world) takeUpOrphans() {
	w.t.Helper()
	await.True(w.t, "the run has ended", func() bool {
		done, free := w.push.active.take(w.id)
		if free {
			done()
		}
		return free
	})
	for range 2 { // what has not gone on since the look before
		if err := w.push.takeUpAll(w.t.Context(), false); err != nil {
			w.t.Fatal(err)
		}
	}
}

func inState(s pushv1.State) func(*pushv1.ChangeSet) bool {
	return func(m *pushv1.ChangeSet) bool { return m.GetState() == s }
}

// onAStoreWithFaults is a world in which the writes of change set day-1 may fail.
func onAStoreWithFaults(t *testing.T) (*world, *storeFaults) {
	t.Helper()
	w, f := newWorld(t), &storeFaults{}
	w.stop()
	w.deps.State = w.deps.State.WithFaults(f.of)
	w.start()
	must(t, w.command([]string{"create", "day-1"}), "planned")
	return w, f
}

// heldByAll waits for the end, and looks whether every router holds the change, sent once, and nothing is pending.
func (w *world) heldByAll() {
	w.t.Helper()
	must(w.t, w.command([]string{"await", "verified"}), "verified")
	for name, r := range w.routers {
		if r.Commits() != 1 || r.Pending() || len(r.Entries()) == 0 {
			w.t.Errorf("%s: %d transactions, pending %v, %d entries", name, r.Commits(), r.Pending(), len(r.Entries()))
		}
	}
}

// A write that etcd has made and whose answer is lost counts as made: the client gets the answer, and the
// run begins.
func TestAnApplyWhoseRecordIsAnsweredTooLateRuns(t *testing.T) {
	w, faults := onAStoreWithFaults(t)
	must(t, w.command([]string{"approve"}), "")
	faults.inject(state.AnswerLost, true, inState(pushv1.State_STATE_APPLYING))
	if text := w.command([]string{"apply"}); text != "" {
		t.Errorf("apply: %s", text)
	}
	w.heldByAll()
}

// In the middle of a run etcd has no leader for a while: nothing is sent before it is recorded, and then the run goes
// on.
func TestARunGoesOnWhenEtcdTakesRecordsAgain(t *testing.T) {
	w, faults := onAStoreWithFaults(t)
	w.routers["wr"].Inject(pushtest.HangAfterCommit)
	must(t, w.command([]string{"approve", "apply"}), "")
	await.True(t, "wr is being sent its part", w.routers["wr"].Hangs)
	faults.inject(state.Refused, false, func(*pushv1.ChangeSet) bool { return true })
	w.routers["wr"].TimeOut()
	await.True(t, "a record is refused twice", func() bool { return faults.count() > 1 })
	if got := w.record().GetState(); got != pushv1.State_STATE_APPLYING {
		t.Errorf("the record says %s", got)
	}
	for name, r := range w.routers {
		if !r.Pending() {
			t.Errorf("%s keeps a change that is not recorded as applied", name)
		}
	}
	faults.clear()
	w.heldByAll()
}

// The same for longer than the locks live: the run ends, and the change set is taken up without a restart. What was
// not recorded as applied is rolled back.
func TestARunThatLosesItsLocksWithEtcdIsTakenUp(t *testing.T) {
	w, faults := onAStoreWithFaults(t)
	w.routers["wr"].Inject(pushtest.HangAfterCommit)
	must(t, w.command([]string{"approve", "apply"}), "")
	await.True(t, "wr is being sent its part", w.routers["wr"].Hangs)
	faults.inject(state.Refused, false, func(*pushv1.ChangeSet) bool { return true })
	w.routers["wr"].TimeOut()
	await.True(t, "a record is refused", func() bool { return faults.count() > 0 })
	w.loseLocks()
	faults.clear()
	w.takeUpOrphans()
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	for name, r := range w.routers {
		if r.Pending() || len(r.Entries()) != 0 {
			t.Errorf("%s: pending %v, %d entries", name, r.Pending(), len(r.Entries()))
		}
	}
}

// The end that cannot be recorded is not published, and is found again by the process that takes the change set up.
func TestAnEndThatEtcdRefusesIsRecordedLater(t *testing.T) {
	for name, locks := range map[string]bool{"by the run itself": true, "by the next run": false} {
		t.Run(name, func(t *testing.T) {
			w, faults := onAStoreWithFaults(t)
			faults.inject(state.Refused, false, inState(pushv1.State_STATE_VERIFIED))
			must(t, w.command([]string{"approve", "apply"}), "")
			await.True(t, "the end is refused", func() bool { return faults.count() > 0 })
			if got := w.record().GetState(); got != pushv1.State_STATE_APPLIED {
				t.Errorf("the record says %s", got)
			}
			if !locks {
				w.loseLocks()
			}
			faults.clear()
			if !locks {
				w.takeUpOrphans()
			}
			w.heldByAll()
		})
	}
}

// Each transition is published once, also where the answer to its write was lost.
func TestATransitionWhoseWriteIsAnsweredTooLateIsReported(t *testing.T) {
	w, faults := onAStoreWithFaults(t)
	told := make(chan string, 100)
	err := w.deps.Bus.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		defer func() { told <- e.GetCode() }()
		return proto.Unmarshal(m.Value, e)
	})
	if err != nil {
		t.Fatal(err)
	}
	faults.inject(state.AnswerLost, false, func(m *pushv1.ChangeSet) bool { return m.GetState() != pushv1.State_STATE_PLANNED })
	must(t, w.command([]string{"approve", "apply"}), "")
	w.heldByAll()
	for _, want := range []string{"change-approved", "change-applying", "change-applied", "change-verified"} {
		if got := await.Value(t, want, told); got != want {
			t.Errorf("told %s, want %s", got, want)
		}
	}
}

// Etcd has no leader for a moment when a request arrives: the request is answered when etcd has one again.
func TestAnApplyThatEtcdRefusesOnceRuns(t *testing.T) {
	w, faults := onAStoreWithFaults(t)
	must(t, w.command([]string{"approve"}), "")
	faults.inject(state.Refused, true, inState(pushv1.State_STATE_APPLYING))
	if text := w.command([]string{"apply"}); text != "" {
		t.Errorf("apply: %s", text)
	}
	w.heldByAll()
}

package push

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/drift"
)

// awaitWait waits until the change set says that it waits for another one.
func (w *world) awaitWait(other string) {
	w.t.Helper()
	w.await("it waits", func(cs *pushv1.ChangeSet) bool {
		return cs.GetState() != pushv1.State_STATE_DRAFT || strings.Contains(strings.Join(cs.GetNotes(), ""), other)
	})
	if s := w.record().GetState(); s != pushv1.State_STATE_DRAFT {
		w.t.Errorf("it is %s while %s is under way", s, other)
	}
}

// underWay has a change set whose LSPs on wr stay down, so that it waits there for its verification.
func underWay(t *testing.T) (w *world, first string) {
	t.Helper()
	w = newWorld(t)
	w.command([]string{"patient"})
	w.command([]string{"fault", "wr", "tunnels-down"})
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	w.command([]string{"await-router", "wr", "applied"})
	return w, w.id
}

// plannedAfter requests day-2 while the first one is under way, and has that rolled back.
func (w *world) plannedAfter(first string) {
	w.t.Helper()
	must(w.t, w.command([]string{"draft", "day-2"}), "draft")
	w.awaitWait(first)
	w.id = first
	must(w.t, w.command([]string{"abort"}), "")
	must(w.t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	w.command([]string{"use", "day-2"})
	must(w.t, w.command([]string{"await", "planned"}), "planned")
}

// What routers show while a change set is under way may be rolled back a moment later, so it is no running config to
// compare with.
func TestAChangeSetIsPlannedWhenOthersHaveEnded(t *testing.T) {
	t.Parallel()
	w, first := underWay(t)
	for _, router := range []string{"er", "cr"} {
		w.command([]string{"await-checks", router})
	}
	w.plannedAfter(first)
	if d := w.record().GetDevices(); len(d) != 3 {
		t.Errorf("%d routers differ from the plan, want all three", len(d))
	}
}

// A draft that has waited for commit_timeout is left, and planned later.
func TestADraftThatWaitsForLongIsPlannedLater(t *testing.T) {
	t.Parallel()
	w, first := underWay(t)
	must(t, w.command([]string{"draft", "day-2"}), "draft")
	w.awaitWait(first)
	w.passed.Add(int64(w.cfg.CommitTimeout + time.Second))
	release, err := w.push.active.wait(t.Context(), w.id)
	if err != nil {
		t.Fatal(err)
	}
	release()
	w.awaitWait(first)
	w.routers["wr"].Clear()
	w.id = first
	must(t, w.command([]string{"await", "verified"}), "verified")
	w.passed.Add(int64(leftAfter * w.cfg.LockTTL))
	if err := w.push.takeUpAll(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.command([]string{"use", "day-2"})
	must(t, w.command([]string{"await", "empty"}), "empty")
}

// A change set that has ended may have left a commit pending where it is unknown what became of it.
func TestWhatADraftWaitsFor(t *testing.T) {
	now := time.Now()
	device := func(s pushv1.DeviceState, back time.Duration) *pushv1.DeviceChange {
		return &pushv1.DeviceChange{Device: "wr", State: s, RollbackAt: timestamppb.New(now.Add(back))}
	}
	for name, c := range map[string]struct {
		state  pushv1.State
		device *pushv1.DeviceChange
		waits  bool
	}{
		"it waits for its approval":         {pushv1.State_STATE_PLANNED, device(pushv1.DeviceState_DEVICE_STATE_PLANNED, 0), false},
		"it is under way":                   {pushv1.State_STATE_CANARY, device(pushv1.DeviceState_DEVICE_STATE_PLANNED, 0), true},
		"its timer runs":                    {pushv1.State_STATE_FAILED, device(pushv1.DeviceState_DEVICE_STATE_UNKNOWN, time.Second), true},
		"its timer has just ended":          {pushv1.State_STATE_FAILED, device(pushv1.DeviceState_DEVICE_STATE_UNKNOWN, -time.Second), true},
		"its timer has ended":               {pushv1.State_STATE_FAILED, device(pushv1.DeviceState_DEVICE_STATE_UNKNOWN, -time.Minute), false},
		"it holds the commit":               {pushv1.State_STATE_FAILED, device(pushv1.DeviceState_DEVICE_STATE_APPLIED, time.Second), true},
		"it has its old state":              {pushv1.State_STATE_FAILED, device(pushv1.DeviceState_DEVICE_STATE_ROLLED_BACK, time.Second), false},
		"it keeps the change":               {pushv1.State_STATE_VERIFIED, device(pushv1.DeviceState_DEVICE_STATE_CONFIRMED, time.Second), false},
		"it is being rolled back":           {pushv1.State_STATE_ROLLING_BACK, device(pushv1.DeviceState_DEVICE_STATE_CONFIRMED, -time.Minute), true},
		"it was rolled back a moment ago":   {pushv1.State_STATE_ROLLED_BACK, device(pushv1.DeviceState_DEVICE_STATE_ROLLED_BACK, time.Second), false},
		"it was refused a moment ago":       {pushv1.State_STATE_FAILED, device(pushv1.DeviceState_DEVICE_STATE_FAILED, time.Second), false},
		"it is confirmed on every router":   {pushv1.State_STATE_APPLIED, device(pushv1.DeviceState_DEVICE_STATE_CONFIRMED, time.Second), true},
		"it was aborted before it was sent": {pushv1.State_STATE_ABORTED, device(pushv1.DeviceState_DEVICE_STATE_PLANNED, 0), false},
	} {
		all := []*pushv1.ChangeSet{{Id: "c-other", State: c.state, Devices: []*pushv1.DeviceChange{c.device}}}
		if why := awaited(all, []string{"er", "wr"}, now); (why != "") != c.waits {
			t.Errorf("%s: %q", name, why)
		}
		if why := awaited(all, []string{"er"}, now); why != "" {
			t.Errorf("%s, on another router: %s", name, why)
		}
	}
}

// A change set that begins while a draft is compared has the draft compared again.
func TestWhatBeganWhileADraftWasPlanned(t *testing.T) {
	begun := func(steps ...pushv1.State) []*pushv1.ChangeSet {
		m := &pushv1.ChangeSet{Id: "c-other", Devices: []*pushv1.DeviceChange{{Device: "wr"}}}
		for _, s := range steps {
			m.History = append(m.History, &pushv1.Transition{State: s, Time: timestamppb.Now()})
		}
		return []*pushv1.ChangeSet{m}
	}
	if got := begunOn(begun(pushv1.State_STATE_DRAFT, pushv1.State_STATE_PLANNED, pushv1.State_STATE_APPROVED), []string{"wr"}); len(got) != 0 {
		t.Errorf("approved: %v", got)
	}
	if got := begunOn(begun(pushv1.State_STATE_DRAFT, pushv1.State_STATE_CANARY), []string{"wr"}); got["c-other"] != 2 {
		t.Errorf("canary: %v", got)
	}
	if got := begunOn(begun(pushv1.State_STATE_DRAFT, pushv1.State_STATE_APPLYING), []string{"er"}); len(got) != 0 {
		t.Errorf("on another router: %v", got)
	}
}

// What ended while a draft waited is over when it is planned, however early it was requested.
func TestAPlanIsOfTheTimeAtWhichItWasMade(t *testing.T) {
	at := func(minute int) *timestamppb.Timestamp { return timestamppb.New(time.Unix(int64(60*minute), 0)) }
	of := func(id string, created int, state pushv1.DeviceState, history ...*pushv1.Transition) *pushv1.ChangeSet {
		return &pushv1.ChangeSet{
			Id: id, Policy: "p", Created: at(created), State: history[len(history)-1].GetState(), History: history,
			Devices: []*pushv1.DeviceChange{{Device: "wr", State: state}},
		}
	}
	step := func(s pushv1.State, minute int) *pushv1.Transition {
		return &pushv1.Transition{State: s, Time: at(minute)}
	}
	lost := of("c-lost", 1, pushv1.DeviceState_DEVICE_STATE_UNKNOWN, step(pushv1.State_STATE_PLANNED, 1), step(pushv1.State_STATE_APPLYING, 1), step(pushv1.State_STATE_FAILED, 3))
	waited := of("c-waited", 2, pushv1.DeviceState_DEVICE_STATE_CONFIRMED, step(pushv1.State_STATE_DRAFT, 2), step(pushv1.State_STATE_PLANNED, 5),
		step(pushv1.State_STATE_APPLYING, 6), step(pushv1.State_STATE_VERIFIED, 7))
	if _, known := drift.Relevant(stepsOf([]*pushv1.ChangeSet{lost, waited}, "wr")); known != drift.Known {
		t.Errorf("what is in force after it is %v", known)
	}
	between := of("c-between", 4, pushv1.DeviceState_DEVICE_STATE_CONFIRMED, step(pushv1.State_STATE_DRAFT, 4), step(pushv1.State_STATE_PLANNED, 4),
		step(pushv1.State_STATE_APPLYING, 4), step(pushv1.State_STATE_VERIFIED, 4))
	if supersedes(between, waited) || !supersedes(waited, between) {
		t.Error("the plan that was made later is outdated")
	}
}

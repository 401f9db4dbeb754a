package push

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/await"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// plansKept counts the plans in etcd.
func (w *world) plansKept() int {
	w.t.Helper()
	keys, err := w.deps.State.Keys(w.t.Context(), contentPrefix)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(keys)
}

// collect frees what is no longer needed, once the control plane has done so at its start.
func (w *world) collect() {
	w.t.Helper()
	await.True(w.t, "plans are collected", func() bool {
		ours, err := w.push.collect(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		return ours
	})
}

// verify makes a change set a minute after the last one, and applies it.
func (w *world) verify(key string) {
	w.t.Helper()
	w.passed.Add(int64(time.Minute))
	must(w.t, w.command([]string{"create", key}), "planned")
	must(w.t, w.command([]string{"approve", "apply"}), "")
	must(w.t, w.command([]string{"await", "verified"}), "verified")
}

// keepOne keeps the plans of the newest change set, of those in force, and of those that can be rolled back.
func keepOne(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.stop()
	w.cfg.Keep = Keep{Changes: 1, For: time.Nanosecond}
	w.start()
	w.verify("day-1")
	w.plans.set("none")
	w.verify("day-2")
	w.plans.set("")
	w.verify("day-3")
	w.passed.Add(int64(time.Minute))
	return w
}

func TestOldPlansAreGivenUp(t *testing.T) {
	w := keepOne(t)
	before := w.plansKept()
	w.collect()
	// day-1 and day-3 have the same plan for the same running config, so only that of day-2 is
	// unreferenced.
	if after := w.plansKept(); after != before/2 {
		t.Errorf("%d plans of %d are left, want half", after, before)
	}
	for key, collected := range map[string]bool{"day-1": true, "day-2": true, "day-3": false} {
		w.id = newID(key)
		if cs := w.get(); (cs.GetCollected() != nil) != collected || len(cs.GetHistory()) != 6 {
			t.Errorf("%s: given up at %v, history of %d", key, cs.GetCollected(), len(cs.GetHistory()))
		}
	}
	w.id = newID("day-1")
	if text := w.command([]string{"rollback"}); !strings.Contains(text, "not kept any more") {
		t.Errorf("a rollback without a plan: %q", text)
	}
	w.id = newID("day-3")
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
}

func TestWhatARollbackNeedsIsKept(t *testing.T) {
	w := newWorld(t)
	w.stop()
	w.cfg.Keep = Keep{Changes: 1, For: time.Nanosecond}
	w.start()
	w.verify("day-1")
	w.plans.set("heavier") // other entries on wr alone
	w.verify("day-2")
	w.passed.Add(int64(time.Minute))
	before := w.plansKept()
	w.collect()
	if after := w.plansKept(); after != before {
		t.Errorf("%d of %d plans are left, and day-1 is in force on er and cr", after, before)
	}
}

// While a change set is planned its plans have no name yet.
func TestPlansOfADraftAreKept(t *testing.T) {
	w := keepOne(t)
	w.plans.set("hanging")
	w.command([]string{"draft", "day-4"})
	before := w.plansKept()
	w.collect()
	if after := w.plansKept(); after != before {
		t.Errorf("%d of %d plans are left beside a draft", after, before)
	}
}

// A plan that is stored again between the two looks is referenced.
func TestAPlanThatIsStoredAgainHasAnotherRevision(t *testing.T) {
	store, d := storeOf(t), incompressible()
	kept := &contents{store: store, recent: map[string]*pushv1.DeviceChange{}}
	revision := func() int64 {
		if err := kept.save(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		keys, err := store.Keys(t.Context(), contentPrefix)
		if err != nil || len(keys) < 2 {
			t.Fatal(keys, err)
		}
		return keys[0].Revision
	}
	if first := revision(); first >= revision() {
		t.Error("the first piece keeps its revision")
	}
}

func TestWhichChangeSetsAreOld(t *testing.T) {
	now := time.Now()
	made := func(id string, days int, s pushv1.State, d pushv1.DeviceState) *pushv1.ChangeSet {
		at := timestamppb.New(now.AddDate(0, 0, -days))
		return &pushv1.ChangeSet{Id: id, State: s, Created: at, Devices: []*pushv1.DeviceChange{{Device: "wr", State: d}},
			History: []*pushv1.Transition{{State: pushv1.State_STATE_APPLYING, Time: at}, {State: s, Time: at}}}
	}
	const (
		verified, failed = pushv1.State_STATE_VERIFIED, pushv1.State_STATE_FAILED
		confirmed, never = pushv1.DeviceState_DEVICE_STATE_CONFIRMED, pushv1.DeviceState_DEVICE_STATE_FAILED
	)
	ninety := 90 * 24 * time.Hour
	for name, c := range map[string]struct {
		all  []*pushv1.ChangeSet
		keep Keep
		want []string
	}{
		"one that was replaced":            {[]*pushv1.ChangeSet{made("c-1", 100, verified, confirmed), made("c-2", 95, verified, confirmed)}, Keep{For: ninety}, []string{"c-1"}},
		"one that is young":                {[]*pushv1.ChangeSet{made("c-1", 80, verified, confirmed), made("c-2", 70, verified, confirmed)}, Keep{For: ninety}, nil},
		"one of the newest":                {[]*pushv1.ChangeSet{made("c-1", 100, verified, confirmed), made("c-2", 95, verified, confirmed)}, Keep{Changes: 2, For: ninety}, nil},
		"one that failed":                  {[]*pushv1.ChangeSet{made("c-1", 100, failed, never)}, Keep{For: ninety}, []string{"c-1"}},
		"one that waits for a person":      {[]*pushv1.ChangeSet{made("c-1", 100, pushv1.State_STATE_PLANNED, never)}, Keep{For: ninety}, nil},
		"one that nobody knows the end of": {[]*pushv1.ChangeSet{made("c-1", 100, verified, confirmed), made("c-2", 95, failed, pushv1.DeviceState_DEVICE_STATE_UNKNOWN)}, Keep{For: ninety}, nil},
		"all, while a change set goes on":  {[]*pushv1.ChangeSet{made("c-1", 100, verified, confirmed), made("c-2", 0, pushv1.State_STATE_APPLYING, never)}, Keep{For: ninety}, nil},
	} {
		var got []string
		for _, cs := range old(c.all, c.keep, now) {
			got = append(got, cs.GetId())
		}
		if d := cmp.Diff(got, c.want); d != "" {
			t.Errorf("%s (-got +want):\n%s", name, d)
		}
	}
}

// A plan may be given up after a rollback has found it and before the rollback is recorded: nothing could be reversed.
func TestARollbackDoesNotBeginWithoutThePlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.verify("day-1")
	if err := w.push.giveUp(t.Context(), w.id, "given up by the test"); err != nil {
		t.Fatal(err)
	}
	_, err := w.push.start(t.Context(), w.id, rollout.Event{Kind: rollout.Rollback, By: "noc"})
	if !errors.Is(err, errWrongState) || !strings.Contains(err.Error(), "not kept any more") {
		t.Errorf("the rollback begins: %v", err)
	}
	if cs := w.record(); cs.GetState() != pushv1.State_STATE_VERIFIED {
		t.Errorf("the record says %s", cs.GetState())
	}
}

// A process died while it planned: as long as its draft is one, no plan is deleted.
func TestADraftThatWasLeftIsPlannedWithoutARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := timestamppb.New(w.now())
	w.id = "c-left"
	left := &pushv1.ChangeSet{Id: w.id, Policy: "hntes-two-queue", Author: "noc", Created: at, State: pushv1.State_STATE_DRAFT,
		History: []*pushv1.Transition{{State: pushv1.State_STATE_DRAFT, Time: at}}}
	if _, err := w.deps.State.Put(t.Context(), recordPrefix+w.id, 0, left); err != nil {
		t.Fatal(err)
	}
	if w.push.wasLeft(left) {
		t.Error("a draft that was just requested is another process's")
	}
	w.passed.Store(int64(leftAfter*w.cfg.LockTTL + time.Second))
	if err := w.push.takeUpAll(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	must(t, w.command([]string{"await", "planned"}), "planned")
}

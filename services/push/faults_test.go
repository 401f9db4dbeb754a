package push

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// A client may disconnect: Ctrl-C, or a service that restarts. The repeated request must not be answered with a draft,
// which its sender takes for a change set that was made.
func TestACreateThatIsCutOffIsPlannedWhenItIsRepeated(t *testing.T) {
	w := newWorld(t)
	w.plans.set("hanging")
	ctx, leave := context.WithCancel(t.Context())
	request := &pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "ann", IdempotencyKey: "twice"}
	cut := make(chan error, 1)
	go func() {
		_, err := w.push.create(ctx, request)
		cut <- err
	}()
	w.id = newID("twice")
	await.True(t, "the change set is a draft", func() bool {
		_, _, err := w.push.load(t.Context(), w.id)
		return err == nil
	})
	leave()
	await.Value(t, "the first request ends", cut)
	w.plans.set("")
	r, err := w.api.Create(t.Context(), connect.NewRequest(request))
	if err != nil || r.Msg.GetChange().GetState() != pushv1.State_STATE_PLANNED {
		t.Errorf("the repeated request got %s, %v", r.Msg.GetChange().GetState(), err)
	}
	// A client that lost the answer finds it by its key, without another request.
	found, err := w.api.Get(t.Context(), connect.NewRequest(&pushv1.GetRequest{IdempotencyKey: "twice"}))
	if err != nil || found.Msg.GetChange().GetId() != w.id {
		t.Errorf("found %s by its key, %v; want %s", found.Msg.GetChange().GetId(), err, w.id)
	}
	if _, err := w.api.Get(t.Context(), connect.NewRequest(&pushv1.GetRequest{IdempotencyKey: "never"})); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a key that nobody used: %v, want NotFound", err)
	}
}

// Two change sets that lock the same routers in different orders could each hold a lock that the other
// needs, and both fail.
func TestRoutersAreLockedInOneOrderForAll(t *testing.T) {
	w := newWorld(t)
	for holder, router := range map[string]string{"c-1": "cr", "c-2": "wr"} {
		held, err := w.deps.State.Lock(t.Context(), holder, w.cfg.LockTTL, keyLocks+router)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(held.Release)
	}
	for _, order := range [][]string{{"wr", "cr"}, {"cr", "wr"}} {
		_, err := w.deps.State.Lock(t.Context(), "c-3", w.cfg.LockTTL, lockKeys(order)...)
		if held := new(state.HeldError); !errors.As(err, &held) || held.Key != keyLocks+"cr" {
			t.Errorf("%v: %v, want cr first", order, err)
		}
	}
}

// A plan that cannot be read any more is the end of one change set, and not of the control plane.
func TestAnUnreadablePlanIsAFailedChangeSet(t *testing.T) {
	w := newWorld(t)
	w.routers["er"].Inject("hang-before-commit")
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	await.True(t, "er is asked", w.routers["er"].Hangs)
	w.stop()
	w.lose("")
	w.start()
	w.await("failed", func(cs *pushv1.ChangeSet) bool { return cs.GetState() == pushv1.State_STATE_FAILED })
	last := w.record().GetHistory()
	if note := last[len(last)-1].GetNote(); !strings.Contains(note, "cannot be read") {
		t.Errorf("the record says %q", note)
	}
	if got := w.get(); got.GetState() != pushv1.State_STATE_FAILED || len(got.GetHistory()) != len(last) || !strings.Contains(got.GetDevices()[0].GetDiff(), "cannot be read") {
		t.Errorf("it is shown as %v", got)
	}
	w.expire() // until then a commit may be pending, and nothing is planned
	w.command([]string{"give-up"})
	must(t, w.command([]string{"create", "day-2"}), "planned")
	listed, err := w.api.List(t.Context(), connect.NewRequest(&pushv1.ListRequest{}))
	if err != nil || len(listed.Msg.GetChanges()) != 2 || listed.Msg.GetChanges()[0].GetDevices()[0].GetPlan() == nil {
		t.Errorf("the list is %v (%v)", listed, err)
	}
}

// lose deletes the plans with this digest, all for an empty one.
func (w *world) lose(digest string) {
	w.t.Helper()
	pieces, err := w.deps.State.List(w.t.Context(), contentPrefix+digest)
	if err != nil || len(pieces) == 0 {
		w.t.Fatal(pieces, err)
	}
	for _, p := range pieces {
		if err := w.deps.State.Apply(w.t.Context(), state.Op{Key: p.Key}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// A plan that is lost says nothing of other routers: change sets there are rolled back. On its own it may have changed
// anything.
func TestALostPlanKeepsOtherRoutersFromNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.set("wr-absent")
	w.verify("day-1")
	w.plans.set("full")
	w.verify("day-2")
	w.plans.set("heavier")
	w.verify("day-3")
	lost := w.record().GetDevices()
	if len(lost) != 1 {
		t.Fatalf("day-3 is of %v, want wr alone", lost)
	}
	w.stop()
	w.lose(lost[0].GetContent())
	w.start()
	w.command([]string{"use", "day-2"})
	if text := w.command([]string{"rollback"}); !strings.Contains(text, "failed_precondition") || !strings.Contains(text, "unknown whether") {
		t.Errorf("of the same router: %s", text)
	}
	w.command([]string{"use", "day-1"})
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
}

// A record that cannot be read is reported once and counted, and keeps neither the control plane from starting nor
// other change sets from being listed and applied. What it left on routers is unknown, so nothing is decided by that.
func TestAnUnreadableRecordStopsNothing(t *testing.T) {
	w := newWorld(t)
	w.stop()
	broken := state.Entry{Key: recordPrefix + "broken", Value: []byte{0x0a, 1, 0xff}} // no text, where the id is
	if err := w.deps.State.Import(t.Context(), []state.Entry{broken}); err != nil {
		t.Fatal(err)
	}
	codes := w.codes()
	w.start()
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	w.await("verified", func(cs *pushv1.ChangeSet) bool { return cs.GetState() == pushv1.State_STATE_VERIFIED })
	listed, err := (&api{w.push}).List(t.Context(), connect.NewRequest(&pushv1.ListRequest{}))
	if err != nil || len(listed.Msg.GetChanges()) != 1 {
		t.Errorf("listed %v, %v; want the other change set", listed, err)
	}
	if n := testutil.ToFloat64(w.push.metrics.unreadable); n != 1 {
		t.Errorf("%v unreadable records, want 1", n)
	}
	if err := w.push.sweep(t.Context()); err == nil {
		t.Error("plans were deleted, though nobody knows which the record names")
	}
	told := 0
	for code := range codes {
		if code == "change-unreadable broken" {
			told++
		}
		if strings.HasPrefix(code, "change-verified ") {
			break
		}
	}
	if told != 1 {
		t.Errorf("told %d times, want once", told)
	}
}

// A record that was cut off behind its first fields, or is empty, can be decoded, and says nothing of what it left on
// routers.
func TestARecordThatIsCutOffIsUnreadable(t *testing.T) {
	at := &pushv1.Transition{State: pushv1.State_STATE_DRAFT}
	for name, m := range map[string]*pushv1.ChangeSet{
		"empty": {}, "without a history": {Id: "cut", Devices: []*pushv1.DeviceChange{{Device: "wr"}}}, "without an id": {History: []*pushv1.Transition{at}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.stop()
			if _, err := w.deps.State.Put(t.Context(), recordPrefix+"cut", 0, m); err != nil {
				t.Fatal(err)
			}
			w.start() // it collects at once
			if err := w.push.sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "cut off") {
				t.Errorf("plans are deleted beside it: %v", err)
			}
			if _, _, err := w.push.load(t.Context(), "cut"); err == nil || !strings.Contains(err.Error(), "cut off") {
				t.Errorf("it is read alone: %v", err)
			}
			w.verify("day-1")
			if n := testutil.ToFloat64(w.push.metrics.unreadable); n != 1 {
				t.Errorf("%v unreadable records, want 1", n)
			}
		})
	}
}

// A policy service that does not answer keeps neither drafts nor runs waiting for ever.
func TestAPolicyServiceThatHangsIsAFailedChangeSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.set("with-circuit")
	w.plans.carry("c-1")
	must(t, w.command([]string{"create", "day-1"}), "planned")
	w.stop()
	w.cfg.CallTimeout = time.Second
	w.start()
	w.plans.set("hanging")
	must(t, w.command([]string{"create", "day-2"}), "failed")
	w.plans.hang()
	w.command([]string{"use", "day-1"})
	if text := w.command([]string{"approve", "apply"}); !strings.Contains(text, "it is unknown whether its circuits are in force") {
		t.Errorf("applied: %s", text)
	}
}

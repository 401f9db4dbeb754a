package push

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/await"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/pushtest"
)

// heldAt requests the run of a change set, and returns when wr, the last router to be asked, is at a moment of it.
func (w *world) heldAt(m pushtest.Moment, request ...string) *pushtest.Hold {
	w.t.Helper()
	hold := w.routers["wr"].HoldAt(w.t, m)
	must(w.t, w.command(request), "")
	await.Value(w.t, "wr is "+string(m), hold.Reached())
	return hold
}

// ended is the state in which the change set's run ends.
func (w *world) ended() string {
	w.t.Helper()
	w.await("an end", func(cs *pushv1.ChangeSet) bool { return !states[cs.GetState()].InMotion() })
	return stateWord(w.record().GetState())
}

// A stop that comes while the last router is verified holds, however soon after it the router answers: nothing was
// confirmed yet.
func TestAStopBeforeTheFirstConfirmationHolds(t *testing.T) {
	for name, stop := range map[string]string{"an abort": "abort", "a freeze": "freeze wr"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			must(t, w.command([]string{"create", "day-1"}), "planned")
			hold := w.heldAt(pushtest.Verifying, "approve", "apply")
			must(t, w.command(strings.Fields(stop)), "")
			hold.Release()
			if got := w.ended(); got != "rolled-back" {
				t.Errorf("it is %s:\n%s%s", got, show(w.get()), w.held())
			}
		})
	}
}

// So it is in a rollback, which then changes nothing.
func TestAStopBeforeTheFirstConfirmationOfARollbackHolds(t *testing.T) {
	for name, stop := range map[string]string{"an abort": "abort", "a freeze": "freeze wr"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.verify("day-1")
			hold := w.heldAt(pushtest.Verifying, "rollback")
			must(t, w.command(strings.Fields(stop)), "")
			hold.Release()
			if got := w.ended(); got != "verified" {
				t.Errorf("it is %s:\n%s%s", got, show(w.get()), w.held())
			}
		})
	}
}

// The state of a change set that is rolled back is the same before and after the first confirmation; the answer to an
// abort is not.
func TestAnAbortThatComesTooLateIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.verify("day-1")
	codes := w.codes()
	hold := w.heldAt(pushtest.BeforeConfirm, "rollback")
	_, err := w.api.Abort(t.Context(), connect.NewRequest(&pushv1.AbortRequest{Id: w.id, By: "noc"}))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "too late") {
		t.Errorf("aborted while wr confirms: %v", err)
	}
	hold.Release()
	if got := w.ended(); got != "rolled-back" {
		t.Errorf("it is %s", got)
	}
	for code := range codes {
		if strings.HasPrefix(code, "change-aborted") {
			t.Errorf("event %s", code)
		}
		if strings.HasPrefix(code, "change-rolled-back ") {
			break
		}
	}
}

// A second abort is as good as the first, and an event less. The next run of the change set is not stopped by them.
func TestAnAbortIsOfOneRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.verify("day-1")
	hold := w.heldAt(pushtest.Verifying, "rollback")
	must(t, w.command([]string{"abort"}), "")
	codes := w.codes()
	must(t, w.command([]string{"abort"}), "")
	hold.Release()
	if got := w.ended(); got != "verified" {
		t.Errorf("the first rollback: %s", got)
	}
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	for code := range codes {
		if strings.HasPrefix(code, "change-aborted") {
			t.Errorf("event %s", code)
		}
		if strings.HasPrefix(code, "change-rolled-back ") {
			break
		}
	}
}

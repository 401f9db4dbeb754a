package push

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/push/pushtest"
)

// A change set changes the scheduler of wr, and somebody deletes a queue there that it leaves as it is.
func oneEntryOfWr(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.verify("day-1")
	w.plans.set("heavier")
	must(t, w.command([]string{"create", "day-2"}), "planned")
	if d := w.get().GetDevices(); len(d) != 1 || len(d[0].GetEntries()) == len(d[0].GetPlan().GetEntries()) {
		t.Fatalf("day-2 is of %v, want a part of wr", d)
	}
	return w
}

func TestDriftOfAnEntryThatStaysIsNotVerified(t *testing.T) {
	t.Parallel()
	w := oneEntryOfWr(t)
	w.routers["wr"].Edit(alphaQueue, "")
	must(t, w.command([]string{"approve", "apply"}), "")
	if text := w.command([]string{"await", "failed"}); !strings.Contains(text, "config drift") || !strings.Contains(text, alphaQueue) {
		t.Errorf("it ended as\n%s", text)
	}
	if n := w.routers["wr"].Commits(); n != 1 {
		t.Errorf("wr has %d transactions, want day-1's alone", n)
	}
}

func TestAnEntryThatIsLostDuringTheCommitIsNotVerified(t *testing.T) {
	t.Parallel()
	w := oneEntryOfWr(t)
	hold := w.routers["wr"].HoldAt(t, pushtest.AfterCommit)
	must(t, w.command([]string{"approve", "apply"}), "")
	await.Value(t, "wr has committed", hold.Reached())
	w.routers["wr"].Edit(alphaQueue, "")
	hold.Release()
	if text := w.command([]string{"await", "rolled-back"}); !strings.Contains(text, "running config differs at "+alphaQueue) {
		t.Errorf("it ended as\n%s", text)
	}
}

// What another change set was rolled back to, or a repair put back, since the plan was made is no drift.
func TestWhatOthersChangedSinceThePlanIsExpected(t *testing.T) {
	t.Parallel()
	w := oneEntryOfWr(t)
	w.routers["wr"].Edit(alphaQueue, "")
	w.push.cfg.Reconcile.Answer = "repair"
	w.read(w.push, "wr")
	second := w.id
	w.id = w.repairs()[0].GetId()
	must(t, w.command([]string{"await", "verified"}), "verified")
	w.id = second
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
}

// What is verified is what is expected: a plan that was made while another one's LSP was in force, which was rolled
// back since, does not bring the LSP back.
func TestAPlanWhoseNeighbourWasRolledBackIsVerified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.verify("day-1")
	w.plans.set("with-circuit")
	w.plans.carry("c-1")
	w.verify("beside")
	w.plans.set("with-circuit-and-heavier")
	must(t, w.command([]string{"create", "planned-on-it"}), "planned")
	must(t, w.command([]string{"use", "beside"}), "")
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	must(t, w.command([]string{"use", "planned-on-it"}), "")
	must(t, w.command([]string{"approve", "apply"}), "")
	if got := w.ended(); got != "verified" {
		t.Errorf("it is %s: %s", got, deviceOf(w.get(), "wr").GetError())
	}
	if got := w.record().GetCircuits(); len(got) > 0 {
		t.Errorf("it is said to have brought %v", got)
	}
	if got := w.inForce(true)["wr"]; !got.GetProven() || len(got.GetCircuits()) > 0 {
		t.Errorf("in force on wr: %v", got)
	}
}

package push

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/testkit/await"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/pushtest"
)

// freePort is a port of wr that the plans bind a scheduler to.
var freePort = configentry.QosInterface.Path("ge-er")

// keeps fails unless wr has still what an operator has bound to the port.
func (w *world) keeps(bound string) {
	w.t.Helper()
	if got := w.routers["wr"].Entries()[freePort]; !strings.Contains(got, bound) {
		w.t.Errorf("%s is %s, and in the place of the operator's %s the port has:\n%s", w.id, stateWord(w.get().GetState()), bound, got)
	}
}

// tells fails unless the last step names the router, the path and what an operator has bound there.
func (w *world) tells(bound string) {
	w.t.Helper()
	history := w.get().GetHistory()
	got := history[len(history)-1].GetNote()
	want := freePort + " conflicts with unmanaged config: " + bound
	if !strings.Contains(got, "wr: "+want) && !strings.Contains(got, "wr: refused: "+want) {
		w.t.Errorf("the history ends with %q, want %q of wr", got, want)
	}
}

// ends waits until nothing is under way.
func (w *world) ends() {
	w.t.Helper()
	w.await("an end", func(cs *pushv1.ChangeSet) bool { return !states[cs.GetState()].InMotion() })
}

// verifies applies a change set of a new idempotency key.
func (w *world) verifies(key string) {
	w.t.Helper()
	must(w.t, w.command([]string{"create", key}), "planned")
	must(w.t, w.command([]string{"approve", "apply"}), "")
	must(w.t, w.command([]string{"await", "verified"}), "verified")
}

// A port that an operator has bound something to since the plan was made is his, also in a rollback of what never was
// there.
func TestABindingMadeAfterThePlanIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	w.command([]string{"occupy", "wr", "ge-er"})
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "failed"}), "failed")
	w.keeps("gold-silver")
	w.tells("gold-silver")
	for name, r := range w.routers {
		if r.Commits() != 0 {
			t.Errorf("%s was sent something", name)
		}
	}
}

// A rollback does not put Millrace's scheduler back where an operator has bound his own meanwhile.
func TestARollbackKeepsWhatAnOperatorBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.verifies("day-1")
	w.plans.set("none")
	w.verifies("day-2")
	w.command([]string{"occupy", "wr", "ge-er"})
	must(t, w.command([]string{"rollback"}), "")
	w.ends()
	w.keeps("gold-silver")
	w.tells("gold-silver")
	if n := w.routers["cr"].Commits(); n != 2 {
		t.Errorf("cr had %d transactions, want those of day-1 and day-2", n)
	}
	w.routers["wr"].Edit(freePort, "") // the operator takes it off, as the error says
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
}

// besideOurs has day-1 in force, and an operator's classifier at the port beside Millrace's scheduler.
func besideOurs(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.verifies("day-1")
	ours := w.routers["wr"].Entries()[freePort]
	classifier := `"input": {"classifiers": {"classifier": [{"type": "IPV4", "config": {"name": "customers", "type": "IPV4"}}]}},`
	w.routers["wr"].Edit(freePort, strings.Replace(ours, "{\n", "{"+classifier+"\n", 1))
	return w
}

// A plan that has no part for the port any more would delete the operator's classifier with Millrace's scheduler. Nor
// is the router left alone while the others change.
func TestABindingBesideOursIsNotDeletedWithIt(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"none", "heavier"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := besideOurs(t)
			w.plans.set(mode)
			must(t, w.command([]string{"create", "day-2"}), "failed")
			w.keeps("customers")
			w.tells("customers")
		})
	}
}

// The rollback of day-1 would delete the port's entry, and the operator's classifier with it.
func TestARollbackKeepsABindingBesideOurs(t *testing.T) {
	t.Parallel()
	w := besideOurs(t)
	must(t, w.command([]string{"rollback"}), "")
	w.ends()
	w.keeps("customers")
	w.tells("customers")
}

// Between the check of all routers and the commit of wr the others commit, and a canary is watched.
func TestABindingMadeDuringTheRolloutIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	hold := w.routers["er"].HoldAt(t, pushtest.BeforeCommit)
	must(t, w.command([]string{"approve", "apply"}), "")
	await.Value(t, "er is about to commit", hold.Reached())
	w.command([]string{"occupy", "wr", "ge-er"})
	hold.Release()
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	w.keeps("gold-silver")
	w.tells("gold-silver")
}

// Where wr is sent the reversed changes, because another router did not keep its own, the port that was freed may be an
// operator's by then.
func TestTheReversedChangesKeepWhatAnOperatorBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.verifies("day-1")
	w.plans.set("none")
	must(t, w.command([]string{"create", "day-2"}), "planned")
	hold := w.routers["er"].HoldAt(t, pushtest.BeforeConfirm)
	must(t, w.command([]string{"approve", "apply"}), "")
	await.Value(t, "er is about to confirm", hold.Reached())
	w.await("wr has confirmed", func(cs *pushv1.ChangeSet) bool { return deviceWord(deviceOf(cs, "wr")) == "confirmed" })
	w.command([]string{"occupy", "wr", "ge-er"})
	w.routers["er"].Expire()
	hold.Release()
	must(t, w.command([]string{"await", "failed"}), "failed")
	w.keeps("gold-silver")
}

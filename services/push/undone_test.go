package push

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/push/drift"
)

// undoneWorld has day-1 in force again: day-2, which takes all pairs off, was rolled back.
func undoneWorld(t *testing.T) *world {
	t.Helper()
	w := verifiedWorld(t, drift.Repair)
	w.plans.set("none")
	must(t, w.command([]string{"create", "day-2"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	return w
}

// repairOf repairs a router that has lost its queue, and returns the plan of the repair.
func (w *world) repairOf(router string) *policyv1.RouterPlan {
	w.t.Helper()
	w.routers[router].Edit(alphaQueue, "")
	w.read(w.push, router)
	repairs := w.repairs()
	if len(repairs) != 1 {
		w.t.Fatalf("%d repairs, want 1", len(repairs))
	}
	w.id = repairs[0].GetId()
	must(w.t, w.command([]string{"await", "verified"}), "verified")
	return deviceOf(w.get(), router).GetPlan()
}

// The rules and LSPs of a repair are those of the plan whose entries it restores, and not those of the one undone.
func TestARepairAfterARollbackHasThePlanBeforeIt(t *testing.T) {
	t.Parallel()
	w := undoneWorld(t)
	got, want := w.repairOf("wr"), w.plans.full[2]
	if !slices.EqualFunc(got.GetLsps(), want.GetLsps(), equal[*policyv1.Lsp]) || !slices.EqualFunc(got.GetRules(), want.GetRules(), equal[*policyv1.RedirectRule]) {
		t.Errorf("LSPs %v and rules %v, want %v and %v", got.GetLsps(), got.GetRules(), want.GetLsps(), want.GetRules())
	}
}

func equal[M proto.Message](a, b M) bool { return proto.Equal(a, b) }

// Where the plan before a rollback is not kept, nobody knows which pairs a router has: while the topology lacks one
// where they may end, it keeps them all, also after a repair.
func TestARouterWhosePlanIsNotKeptIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := undoneWorld(t)
	if err := w.push.giveUp(t.Context(), newID("day-1"), "given up by the test"); err != nil {
		t.Fatal(err)
	}
	w.plans.set("er-absent")
	leaves := func(key string) {
		t.Helper()
		must(t, w.command([]string{"create", key}), "empty")
		if notes := strings.Join(w.get().GetNotes(), "\n"); !strings.Contains(notes, "wr is left alone: it is unknown") {
			t.Errorf("%s: %s", key, notes)
		}
	}
	leaves("day-3")
	if got := w.repairOf("wr"); len(got.GetEntries()) == 0 || len(got.GetRules()) != 0 {
		t.Errorf("the repair restores %d entries, with rules %v", len(got.GetEntries()), got.GetRules())
	}
	leaves("day-4")
}

package push

import (
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/pushtest"
)

// circuitsLSP is the name that the compiler would give to an LSP of circuit c-1.
const circuitsLSP = "te-circuit-c-1-0123ab"

// withCircuit is a plan with one more LSP, which is as the one that is there but for its name.
func withCircuit(p *policyv1.RouterPlan) *policyv1.RouterPlan {
	out := proto.CloneOf(p)
	model := p.GetLsps()[0].GetName()
	for _, e := range p.GetEntries() {
		if strings.Contains(e.GetPath(), model) {
			more := proto.CloneOf(e)
			more.Path, more.Body = strings.ReplaceAll(e.GetPath(), model, circuitsLSP), strings.ReplaceAll(e.GetBody(), model, circuitsLSP)
			out.Entries = append(out.Entries, more)
		}
	}
	out.Lsps = append(out.Lsps, &policyv1.Lsp{Name: circuitsLSP})
	out.Rules = append(out.Rules, &policyv1.RedirectRule{Sequence: 99, Circuit: "c-1", Lsp: circuitsLSP})
	return out
}

// forCircuits requests a change set because circuits begin or end.
func (w *world) forCircuits(key string) *pushv1.ChangeSet {
	w.t.Helper()
	r, err := w.api.Create(w.t.Context(), connect.NewRequest(&pushv1.CreateRequest{
		Author: "services/circuits", Policy: "hntes-two-queue", IdempotencyKey: key, ForCircuits: true,
	}))
	if err != nil {
		w.t.Fatal(err)
	}
	w.id = r.Msg.GetChange().GetId()
	return r.Msg.GetChange()
}

func (w *world) inForce(read bool) map[string]*pushv1.RouterInForce {
	w.t.Helper()
	r, err := w.api.InForce(w.t.Context(), connect.NewRequest(&pushv1.InForceRequest{Read: read}))
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]*pushv1.RouterInForce{}
	for _, x := range r.Msg.GetRouters() {
		out[x.GetRouter()] = x
	}
	return out
}

// A change set that changes nothing but circuits needs no approval; other changes of the policy need the
// policy's approval.
func TestCircuitsBeginByThemselvesAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.ApprovalForCircuits = Approval{Rule: "auto"}
	must(t, w.command([]string{"restart"}), "")
	if cs := w.forCircuits("first"); cs.GetApprovalRule().GetPersons() != 1 || !slices.Contains(cs.GetApprovalRule().GetBecause(), "it changes more than circuits on wr") {
		t.Errorf("where nothing was in force: %v", cs.GetApprovalRule())
	}
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")

	w.plans.set("with-circuit")
	w.plans.carry("c-1")
	if got := w.inForce(false)["wr"]; len(got.GetCircuits()) != 0 || got.GetChange() != w.id || got.GetProven() {
		t.Errorf("before it begins: %v", got)
	}
	w.forCircuits("begins")
	if text := w.command([]string{"await", "verified"}); !strings.Contains(text, "approved by rule push.approval: it changes nothing but circuits") {
		t.Errorf("begins: %s", text)
	}
	if got := w.inForce(true)["wr"]; !slices.Equal(got.GetCircuits(), []string{"c-1"}) || !got.GetProven() {
		t.Errorf("in force: %v", got)
	}

	w.plans.set("with-circuit-and-heavier")
	if cs := w.forCircuits("and more"); cs.GetState() != pushv1.State_STATE_PLANNED || cs.GetApprovalRule().GetPersons() != 1 {
		t.Errorf("it changes a weight, too, and is %s under %v", cs.GetState(), cs.GetApprovalRule())
	}
	w.plans.set("full")
	w.plans.carry()
	w.forCircuits("ends")
	must(t, w.command([]string{"await", "verified"}), "verified")
	if got := w.inForce(true)["wr"]; len(got.GetCircuits()) != 0 || !got.GetProven() {
		t.Errorf("after its end: %v", got)
	}
}

// After a rollback by hand no person has approved the entries that circuits would bring back.
func TestAfterARollbackByHandCircuitsNeedAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.ApprovalForCircuits = Approval{Rule: "auto"}
	must(t, w.command([]string{"restart"}), "")
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	w.plans.set("with-circuit")
	w.plans.carry("c-1")
	w.forCircuits("begins")
	must(t, w.command([]string{"await", "verified"}), "verified")
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	if got := w.inForce(true)["wr"]; len(got.GetCircuits()) != 0 || !got.GetProven() {
		t.Errorf("after the rollback: %v", got)
	}
	if cs := w.forCircuits("again"); cs.GetApprovalRule().GetPersons() != 1 || !strings.Contains(strings.Join(cs.GetApprovalRule().GetBecause(), ""), "was rolled back on wr by hand") {
		t.Errorf("after a rollback by hand: %v", cs.GetApprovalRule())
	}
}

// What is read is the router: its configuration, its state, and that it answers.
func TestWhatIsInForceIsReadFromRouters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.inForce(true)["wr"]; got.GetChange() != "" || got.GetUnsure() || !got.GetProven() {
		t.Errorf("before any change set: %v", got)
	}
	w.plans.set("with-circuit")
	w.plans.carry("c-1")
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	for _, c := range []struct {
		why  string
		do   func()
		undo func()
	}{
		{"LSP", func() { w.routers["wr"].Inject(pushtest.TunnelsDown) }, func() { w.routers["wr"].Clear() }},
		{"it could not be read", func() { w.routers["wr"].Down() }, func() { w.routers["wr"].Up(t) }},
		{"its running config differs at", func() { must(t, w.command([]string{"edit", "wr", "te-mine"}), "") }, func() {}},
	} {
		c.do()
		if got := w.inForce(true)["wr"]; got.GetProven() || !strings.Contains(got.GetReason(), c.why) {
			t.Errorf("%v, want %q", got, c.why)
		}
		c.undo()
	}
	if _, err := w.api.InForce(t.Context(), connect.NewRequest(&pushv1.InForceRequest{Routers: []string{"nowhere"}})); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a router that is not there: %v", err)
	}
}

// Who waits for a circuit to be removed learns which routers were not looked at.
func TestAChangeSetNamesWhatItLeavesAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.set("wr-absent")
	must(t, w.command([]string{"create", "day-1"}), "planned")
	if got := w.get().GetLeftAlone(); !slices.Equal(got, []string{"wr"}) {
		t.Errorf("left alone: %v", got)
	}
}

// TestOnlyTheServiceAsksForCircuits: a person could choose the rule of circuits for a change set of the own.
func TestOnlyTheServiceAsksForCircuits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func(who rights.Caller) error {
		_, err := w.as(who).Create(t.Context(), connect.NewRequest(&pushv1.CreateRequest{Policy: "hntes-two-queue", Author: who.Name, IdempotencyKey: who.Name, ForCircuits: true}))
		return err
	}
	if err := create(rights.Caller{Name: "ann", Role: rights.Admin}); connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "for_circuits") {
		t.Errorf("a person: %v", err)
	}
	if err := create(rights.Caller{Name: "circuits", Role: rights.Service}); err != nil {
		t.Errorf("the service: %v", err)
	}
}

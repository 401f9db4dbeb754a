package circuits

import (
	"testing"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func (w *live) activate(c *Component, id string) {
	w.t.Helper()
	_, err := (&api{c}).Activate(w.t.Context(), connect.NewRequest(&circuitsv1.ActivateRequest{Id: id, By: "ann"}))
	must(w.t, err)
}

func (w *live) deactivate(c *Component, id string) {
	w.t.Helper()
	_, err := (&api{c}).Deactivate(w.t.Context(), connect.NewRequest(&circuitsv1.DeactivateRequest{Id: id, By: "ann", Note: "service"}))
	must(w.t, err)
}

// A circuit that is activated by hand is on routers from then on, in its window, and off them while it is deactivated.
func TestActivationByHand(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	c := w.replica(w.changes)
	w.queues()
	manual, other := w.from("wr", "192.0.2.0/26", 20), w.from("wr", "192.0.2.64/26", 10)
	manual.Activation = circuitsv1.Activation_ACTIVATION_MANUAL
	a := w.world.booked(c, "1", manual)
	b := w.world.booked(c, "2", other)
	w.world.is(c, b.GetId(), activeState)
	if got := w.world.get(c, a.GetId()); got.GetState() != scheduled || !got.GetDeactivated() || got.GetLate() || w.holds("wr", a.GetId()) {
		t.Fatalf("booked by hand: %v, on routers: %v", got, w.holds("wr", a.GetId()))
	}
	for range 2 {
		w.activate(c, a.GetId())
		w.world.is(c, a.GetId(), activeState)
		if !w.holds("wr", a.GetId()) {
			t.Error("activated, and its ingress has no LSP of it")
		}
		w.deactivate(c, a.GetId())
		w.world.is(c, a.GetId(), scheduled)
		if w.holds("wr", a.GetId()) {
			t.Error("deactivated, and its ingress has its LSP")
		}
	}
	w.activate(c, a.GetId())
	w.world.is(c, a.GetId(), activeState)
	got := w.world.get(c, a.GetId())
	if got.GetLate() || got.GetDeactivated() || len(got.GetSlots()) != 1 || got.GetSlots()[0].GetRateBitsPerSecond() != 20*mega {
		t.Errorf("activated again: %v", got)
	}
	w.deactivate(c, a.GetId())
	w.world.is(c, a.GetId(), scheduled)
	w.release(c, a.GetId())
	w.world.is(c, a.GetId(), released)
	w.release(c, b.GetId())
	w.world.is(c, b.GetId(), released)
	w.asBefore()
}

// A person who rolls back the change set that took a circuit off routers does not put it back for long.
func TestADeactivationThatIsRolledBackByHandIsDoneAgain(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	c := w.replica(w.changes)
	w.queues()
	a := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 20))
	w.world.is(c, a.GetId(), activeState)
	w.deactivate(c, a.GetId())
	w.world.is(c, a.GetId(), scheduled)
	all := w.asked()
	id := all[len(all)-1].GetId()
	_, err := w.changes.Rollback(t.Context(), connect.NewRequest(&pushv1.RollbackRequest{Id: id, By: "noc"}))
	must(t, err)
	w.world.is(c, a.GetId(), circuitsv1.State_STATE_DEACTIVATING)
	_, err = w.changes.Approve(t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: awaitPlanned(w, id), By: "noc", Apply: true}))
	must(t, err)
	w.world.is(c, a.GetId(), scheduled)
	if w.holds("wr", a.GetId()) {
		t.Error("deactivated again, and its ingress has its LSP")
	}
	w.release(c, a.GetId())
	w.world.is(c, a.GetId(), released)
}

// A client that may not act for the project activates nothing; a circuit that is held or over is not activated.
func TestWhoActivatesWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.start()
	heldOne, err := w.request(c, "1", w.terms("a", "b", 1), false)
	must(t, err)
	for id, ask := range map[string]struct {
		by   string
		code connect.Code
	}{
		heldOne.GetId(): {"ann", connect.CodeFailedPrecondition},
		w.booked(c, "2", w.terms("a", "b", 1)).GetId(): {"bea", connect.CodePermissionDenied},
		"none": {"ann", connect.CodeNotFound},
	} {
		_, on := (&api{c}).Activate(t.Context(), connect.NewRequest(&circuitsv1.ActivateRequest{Id: id, By: ask.by}))
		_, off := (&api{c}).Deactivate(t.Context(), connect.NewRequest(&circuitsv1.DeactivateRequest{Id: id, By: ask.by}))
		if connect.CodeOf(on) != ask.code || connect.CodeOf(off) != ask.code {
			t.Errorf("%s of %s: %v, %v", id, ask.by, on, off)
		}
	}
}

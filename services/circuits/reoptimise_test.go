package circuits

import (
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func (w *world) reoptimise(c *Component, id, by string, dry bool) (*circuitsv1.ReoptimiseResponse, error) {
	r, err := (&api{c}).Reoptimise(w.t.Context(), connect.NewRequest(&circuitsv1.ReoptimiseRequest{Id: id, By: by, DryRun: dry}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// A circuit that went another way since its path was full goes back when there is room, and not for a small gain.
func TestACircuitIsReoptimised(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	first := w.booked(c, "1", w.terms("a", "b", 4))
	got := w.booked(c, "2", w.terms("a", "b", 3))
	if r, err := w.reoptimise(c, got.GetId(), "ann", false); err != nil || len(r.GetMoves()) != 0 {
		t.Errorf("while its path is full: %v, %v", r, err)
	}
	w.asks(c, first.GetId())
	for by, want := range map[string]string{"ann": "POLICY", "noc": ""} {
		if _, err := w.reoptimise(c, "", by, true); refusalIn(err).GetCode() != want {
			t.Errorf("all of them, by %s: %v", by, err)
		}
	}
	r, err := w.reoptimise(c, "", "noc", true)
	if err != nil || len(r.GetMoves()) != 1 || r.GetMoves()[0].GetDone() || len(w.get(c, got.GetId()).GetPath()) != 2 {
		t.Fatalf("a dry run: %v, %v", r, err)
	}
	if m := r.GetMoves()[0]; m.GetIgpBefore() != 20 || m.GetIgpGain() != 10 || m.GetHopsGain() != 1 || m.GetFreedBitsPerSecond() != 3*giga || len(m.GetBetterPath()) != 1 {
		t.Errorf("it gains %v", m)
	}
	if r, err := w.reoptimise(c, got.GetId(), "ann", false); err != nil || !r.GetMoves()[0].GetDone() {
		t.Fatalf("%v, %v", r, err)
	}
	w.told("circuit-reoptimised")
	is := w.get(c, got.GetId())
	if len(is.GetPath()) != 1 || is.GetState() != scheduled || lastNote(is) != "moved to a–b, a better path: IGP metric 10 instead of 20" {
		t.Errorf("it is %s on %v: %s", is.GetState(), is.GetPath(), lastNote(is))
	}
	if again, err := w.reoptimise(c, "", "noc", false); err != nil || len(again.GetMoves()) != 0 {
		t.Errorf("again: %v, %v", again, err)
	}
}

// An active circuit has both paths until routers have the better one, and is active all the time.
func TestAnActiveCircuitIsReoptimised(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	l := &line{ChangeServiceClient: w.changes}
	c := w.replica(l)
	w.queues()
	first := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 30))
	got := w.world.booked(c, "2", w.from("wr", "192.0.2.64/26", 30))
	for _, one := range []*circuitsv1.Circuit{first, got} {
		w.world.is(c, one.GetId(), activeState)
	}
	long := w.world.get(c, got.GetId()).GetPath()
	w.release(c, first.GetId())
	w.world.is(c, first.GetId(), released)
	l.noCreate.Store(true)
	r, err := w.world.reoptimise(c, got.GetId(), "ann", false)
	must(t, err)
	is := w.world.get(c, got.GetId())
	if len(r.GetMoves()) != 1 || is.GetState() != activeState || len(is.GetPath()) >= len(long) {
		t.Fatalf("moves %v; it is %s on %v", r.GetMoves(), is.GetState(), is.GetPath())
	}
	booked := func(h *circuitsv1.Hop) bool {
		r, err := (&api{c}).Calendar(t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{Link: h.GetLink()}))
		must(t, err)
		return r.Msg.GetLinks()[0].GetLeastFreeBitsPerSecond() < r.Msg.GetLinks()[0].GetReservableBitsPerSecond()
	}
	if !booked(is.GetPath()[0]) || !booked(long[0]) {
		t.Errorf("the better path is booked: %t, the earlier one too: %t", booked(is.GetPath()[0]), booked(long[0]))
	}
	l.noCreate.Store(false)
	await.True(t, "routers have the better path", func() bool { return lastNote(w.world.get(c, got.GetId())) == "routers have the path" })
	for _, h := range w.world.get(c, got.GetId()).GetHistory()[4:] {
		if h.GetState() != activeState {
			t.Errorf("it was %s meanwhile: %s", h.GetState(), h.GetNote())
		}
	}
	if booked(long[0]) || !w.holds("wr", got.GetId()) {
		t.Errorf("the earlier path is still booked: %t", booked(long[0]))
	}
	w.release(c, got.GetId())
	w.world.is(c, got.GetId(), released)
	w.asBefore()
}

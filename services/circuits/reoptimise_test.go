package circuits

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/push/pushtest"
)

func (w *world) reoptimise(c *Component, id, by string, dry bool) (*circuitsv1.ReoptimiseResponse, error) {
	r, err := (&api{c}).Reoptimise(w.t.Context(), connect.NewRequest(&circuitsv1.ReoptimiseRequest{Id: id, By: by, DryRun: dry}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// A circuit that took another path since its own was full returns when there is room, and not for a small gain.
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
	booked := func(h *circuitsv1.Hop) bool { return w.world.bookedOn(c, h) }
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

// bookedOn reports whether circuits have something of a link.
func (w *world) bookedOn(c *Component, h *circuitsv1.Hop) bool {
	r, err := (&api{c}).Calendar(w.t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{Link: h.GetLink()}))
	must(w.t, err)
	return r.Msg.GetLinks()[0].GetLeastFreeBitsPerSecond() < r.Msg.GetLinks()[0].GetReservableBitsPerSecond()
}

// Routers that never take the better path keep the earlier one: it is the circuit's again, and the other one is free.
func TestAnActiveCircuitHasItsEarlierPathAgain(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	c := w.replica(w.changes)
	w.queues()
	first := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 30))
	got := w.world.booked(c, "2", w.from("wr", "192.0.2.64/26", 30))
	for _, one := range []*circuitsv1.Circuit{first, got} {
		w.world.is(c, one.GetId(), activeState)
	}
	long := w.world.get(c, got.GetId()).GetPath()
	w.release(c, first.GetId())
	w.world.is(c, first.GetId(), released)
	w.routers["wr"].Inject(pushtest.RefuseCommit)
	r, err := w.world.reoptimise(c, got.GetId(), "ann", false)
	must(t, err)
	if len(r.GetMoves()) != 1 || !r.GetMoves()[0].GetDone() {
		t.Fatalf("moves: %v", r.GetMoves())
	}
	better := r.GetMoves()[0].GetBetterPath()
	await.True(t, "it has its earlier path again", func() bool {
		w.routers["wr"].Inject(pushtest.RefuseCommit) // each of the change sets
		return slices.EqualFunc(w.world.get(c, got.GetId()).GetPath(), long, sameHop)
	})
	w.routers["wr"].Clear()
	if is := w.world.get(c, got.GetId()); is.GetState() != activeState || w.world.bookedOn(c, better[0]) || !w.world.bookedOn(c, long[0]) {
		t.Errorf("it is %s; the better path is booked: %t, the earlier one: %t", is.GetState(), w.world.bookedOn(c, better[0]), w.world.bookedOn(c, long[0]))
	}
	w.release(c, got.GetId())
	w.world.is(c, got.GetId(), released)
	w.asBefore()
}

func sameHop(a, b *circuitsv1.Hop) bool { return a.GetLink() == b.GetLink() }

// What the topology is has to be read while the book does not change: it is, beside one that is read anew all the time.
func TestNothingIsReoptimisedWithoutATopology(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	w.booked(c, "1", w.terms("a", "b", 4))
	var reading sync.WaitGroup
	reading.Go(func() {
		for range 20 {
			if _, err := c.readTopology(t.Context(), nil); err != nil {
				t.Error(err)
			}
		}
	})
	for range 20 {
		if _, err := w.reoptimise(c, "", "noc", true); err != nil {
			t.Error(err)
		}
	}
	reading.Wait()
	w.unread(2 * w.cfg.TopologyAge)
	await.True(t, "the topology is too old", func() bool {
		r, err := w.reoptimise(c, "", "noc", true)
		if err == nil && r == nil {
			t.Error("neither an answer nor an error")
		}
		return connect.CodeOf(err) == connect.CodeUnavailable
	})
}

// full are two circuits on the way over c, each of which has a better path now.
func (w *world) full(c *Component) (one, two *circuitsv1.Circuit) {
	w.t.Helper()
	first := w.booked(c, "first", w.terms("a", "b", 5))
	one, two = w.booked(c, "one", w.terms("a", "b", 3)), w.booked(c, "two", w.terms("a", "b", 2))
	w.asks(c, first.GetId())
	return one, two
}

// A batch of which a part is booked says which, as it is booked, and why the rest is not.
func TestABatchThatIsHalfBookedIsAnswered(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	one, two := w.full(c)
	out, err := w.reoptimise(c, "", "noc", true)
	if err != nil || len(out.GetMoves()) != 2 || out.GetMoves()[0].GetFreedBitsPerSecond() != 3*giga {
		t.Fatalf("%v, %v", out, err)
	}
	modified, err := w.modify(c, &circuitsv1.ModifyRequest{Id: one.GetId(), Version: w.get(c, one.GetId()).GetVersion(), RateBitsPerSecond: giga})
	if err != nil {
		t.Fatal(modified, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = bookMoves(out, func(id string) (*circuitsv1.PathMove, error) {
		defer cancel()
		return c.moveToBetter(ctx, id, "noc", noon)
	})
	if err != nil || len(out.GetMoves()) != 2 {
		t.Fatalf("%v, %v", out, err)
	}
	if m := out.GetMoves()[0]; !m.GetDone() || m.GetError() != "" || m.GetFreedBitsPerSecond() != giga {
		t.Errorf("the first was modified since it was found: %v", m)
	}
	if m := out.GetMoves()[1]; m.GetDone() || m.GetCircuit() != two.GetId() || m.GetError() == "" {
		t.Errorf("the second could not be booked: %v", m)
	}
	for _, m := range out.GetMoves() {
		if paths := len(w.get(c, m.GetCircuit()).GetPath()); (paths == 1) != m.GetDone() {
			t.Errorf("%v: it has %d links", m, paths)
		}
	}
}

// After an error the rest is not tried; where nothing was booked, the error is the answer.
func TestMovesAfterAnError(t *testing.T) {
	failed := errors.New("etcd is away")
	for name, tc := range map[string]struct {
		fails string
		err   error
		moves int
		left  int32
	}{
		"none":       {"", nil, 3, 4},
		"the first":  {"a", failed, 3, 4},
		"the second": {"b", nil, 2, 5},
		"the last":   {"c", nil, 3, 4},
	} {
		out := &circuitsv1.ReoptimiseResponse{Left: 4, Moves: []*circuitsv1.PathMove{{Circuit: "a"}, {Circuit: "b"}, {Circuit: "c"}}}
		err := bookMoves(out, func(id string) (*circuitsv1.PathMove, error) {
			if id == tc.fails {
				return nil, failed
			}
			return &circuitsv1.PathMove{Circuit: id, Done: true}, nil
		})
		if !errors.Is(err, tc.err) || len(out.GetMoves()) != tc.moves || out.GetLeft() != tc.left {
			t.Errorf("%s fails: %v, %v", name, out, err)
		}
		for _, m := range out.GetMoves() {
			if err == nil && m.GetDone() != (m.GetCircuit() != tc.fails) || err == nil && m.GetDone() != (m.GetError() == "") {
				t.Errorf("%s fails: %v", name, m)
			}
		}
	}
}

// Others have the book between circuits that are looked at, and nobody looks for a client that is gone.
func TestAllCircuitsAreLookedAtInSlices(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	one, two := w.full(c)
	slices, ids := 0, []string{one.GetId(), two.GetId(), "none"}
	moves, would, err := c.betterPaths(t.Context(), ids, noon, func(time.Time) bool { slices++; return true })
	if err != nil || len(moves) != 2 || len(would) != 2 || slices != 2 {
		t.Errorf("%v, %v in %d slices: %v", moves, would, slices+1, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&api{c}).Reoptimise(gone, connect.NewRequest(&circuitsv1.ReoptimiseRequest{By: "noc", DryRun: true})); connect.CodeOf(err) != connect.CodeCanceled {
		t.Errorf("a client that is gone: %v", err)
	}
}

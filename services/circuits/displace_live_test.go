package circuits

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// Of two active circuits in the way of a third one, the one for which another path has room is active there, the other
// one is removed from routers, and no change set is undone.
func TestActiveCircuitsAreDisplaced(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	first := int32(0)
	w.world.cfg.Projects["astro"] = Project{Members: []string{"ann"}, SetupPriority: &first}
	c := w.replica(w.changes)
	w.queues()
	moves := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 25))
	bound := w.from("wr", "192.0.2.64/26", 20)
	bound.WithoutLinks = w.around(c) // it may use no other path
	stays := w.world.booked(c, "2", bound)
	for _, one := range []*circuitsv1.Circuit{moves, stays} {
		w.world.is(c, one.GetId(), activeState)
	}
	terms := w.from("wr", "192.0.2.128/26", 40)
	terms.WithoutLinks, terms.SetupPriority = bound.GetWithoutLinks(), proto.Int32(0)
	got := w.world.booked(c, "3", terms)
	w.world.is(c, got.GetId(), activeState)
	w.world.is(c, stays.GetId(), released)
	await.True(t, "the first one is active on another path", func() bool {
		is := w.world.get(c, moves.GetId())
		return is.GetState() == activeState && len(is.GetPath()) > 1
	})
	if w.holds("wr", stays.GetId()) || !w.holds("wr", moves.GetId()) || !w.holds("wr", got.GetId()) {
		t.Errorf("the ingress has LSPs of the one that was preempted: %t, of the moved one: %t, of the new one: %t",
			w.holds("wr", stays.GetId()), w.holds("wr", moves.GetId()), w.holds("wr", got.GetId()))
	}
	for _, cs := range w.asked() {
		if s := cs.GetState(); s != pushv1.State_STATE_VERIFIED && s != pushv1.State_STATE_EMPTY {
			t.Errorf("change set %s is %s: %v", cs.GetId(), s, cs.GetHistory())
		}
	}
	for _, one := range []*circuitsv1.Circuit{moves, got} {
		w.release(c, one.GetId())
		w.world.is(c, one.GetId(), released)
	}
	w.asBefore()
}

// around are the links from wr that are not the direct one to er.
func (w *live) around(c *Component) (out []string) {
	w.t.Helper()
	q, err := w.world.quote(c, w.from("wr", "192.0.2.0/26", 1))
	must(w.t, err)
	for _, l := range w.snapshot.Links {
		if l.From.String() == q.GetPath()[0].GetFrom() && l.ID != q.GetPath()[0].GetLink() {
			out = append(out, l.ID)
		}
	}
	return out
}

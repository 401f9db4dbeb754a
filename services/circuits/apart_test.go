package circuits

import (
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// A circuit whose only other path is that of a circuit that is to be apart from it is moved there, and the other one
// says so.
func TestACircuitSaysThatItIsNotApartAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Restore.After = 0
	c := w.start()
	first := w.booked(c, "1", w.begun("a", "b", 1000))
	terms := w.begun("a", "b", 1000)
	terms.ApartFrom = []string{first.GetId()}
	second := w.booked(c, "2", terms)
	w.link("a-b", false)
	await.True(t, "the first one is moved", func() bool { return len(w.get(c, first.GetId()).GetPath()) == 2 })
	w.told("circuit-not-apart")
	is := w.get(c, second.GetId())
	if note := lastNote(is); note != "not apart any more from circuit "+first.GetId()+", which moved to a–c–b" || is.GetState() != scheduled {
		t.Errorf("the other one is %s: %q", is.GetState(), note)
	}
}

// A circuit is not moved to a better path where another one is to be apart from it.
func TestReoptimisationKeepsCircuitsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.link("a-b", false)
	c := w.start()
	first := w.booked(c, "1", w.begun("a", "b", 1000))
	terms := w.begun("a", "b", 1000)
	terms.ApartFrom = []string{first.GetId()}
	w.link("a-b", true)
	await.True(t, "there is another way", func() bool {
		q, err := w.quote(c, terms)
		return err == nil && q.GetRefusal() == nil
	})
	second := w.booked(c, "2", terms)
	r, err := c.reoptimise(t.Context(), &circuitsv1.ReoptimiseRequest{Id: first.GetId(), By: "noc"})
	must(t, err)
	if len(r.GetMoves()) > 0 || len(w.get(c, first.GetId()).GetPath()) != 2 || len(w.get(c, second.GetId()).GetPath()) != 1 {
		t.Errorf("it is moved to the other one's link: %v", r.GetMoves())
	}
}

package circuits

import (
	"slices"
	"testing"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func offerOf(no *circuitsv1.Refusal, kind string) *circuitsv1.Terms {
	for _, o := range no.GetOffers() {
		if o.GetKind() == kind {
			return o.GetTerms()
		}
	}
	return nil
}

func (w *world) commit(c *Component, id, by string) error {
	_, err := (&api{c}).Commit(w.t.Context(), connect.NewRequest(&circuitsv1.CommitRequest{Id: id, By: by}))
	return err
}

// Circuits may use 5 Gbit/s of each link by themselves, and 8 where an operator commits them. What is above the soft
// cap is offered and needs that person; what is above the hard one is refused with the numbers, for an operator, too.
func TestSoftAndHardCap(t *testing.T) {
	w := newWorld(t)
	w.cfg.HardShare = 800
	c := w.start()
	w.booked(c, "1", w.terms("a", "b", 5))
	w.booked(c, "2", w.terms("a", "b", 5)) // by c
	_, err := w.request(c, "3", w.terms("a", "b", 2), true)
	no := refusalIn(err)
	above := offerOf(no, "ABOVE_SOFT_CAP")
	if no.GetCode() != "CAPACITY" || above == nil || !above.GetAboveSoftCap() || no.GetBlockers()[0].GetReservableBitsPerSecond() != reservable {
		t.Fatalf("above the soft cap: %v", no)
	}
	if _, err := w.request(c, "3", above, true); refusalIn(err).GetCode() != "POLICY" || refusalIn(err).GetField() != "above_soft_cap" {
		t.Errorf("a member commits it at once: %v", err)
	}
	held, err := w.request(c, "3", above, false)
	must(t, err)
	if err := w.commit(c, held.GetId(), "ann"); refusalIn(err).GetField() != "above_soft_cap" {
		t.Errorf("a member commits it: %v", err)
	}
	must(t, w.commit(c, held.GetId(), "noc"))
	w.is(c, held.GetId(), scheduled)
	for i, replica := range []*Component{c, w.start()} {
		r, err := (&api{replica}).Calendar(t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{Link: linkID("a", "b"), Start: inHours(10), End: inHours(18)}))
		must(t, err)
		l := r.Msg.GetLinks()[0]
		if l.GetReservableBitsPerSecond() != 5*giga || l.GetHardBitsPerSecond() != 8*giga || l.GetLeastFreeBitsPerSecond() != -2*giga {
			t.Errorf("replica %d: %v", i, l)
		}
		most := w.terms("a", "b", 4)
		most.AboveSoftCap = true
		q, err := (&api{replica}).Quote(t.Context(), connect.NewRequest(&circuitsv1.QuoteRequest{Terms: most, By: "noc"}))
		must(t, err)
		no := q.Msg.GetRefusal()
		lacks := func(k *circuitsv1.Blocker) bool {
			return k.GetLink() == linkID("a", "b") && k.GetReservableBitsPerSecond() == 8*giga && k.GetShortfallBitsPerSecond() == 3*giga
		}
		if no.GetCode() != "CAPACITY" || offerOf(no, "ABOVE_SOFT_CAP") != nil || !slices.ContainsFunc(no.GetBlockers(), lacks) {
			t.Errorf("replica %d, above the hard cap: %v", i, no)
		}
	}
	more := &circuitsv1.ModifyRequest{Id: held.GetId(), RateBitsPerSecond: 3 * giga, Version: w.get(c, held.GetId()).GetVersion(), By: "ann"}
	if _, err := w.modify(c, more); refusalIn(err).GetField() != "above_soft_cap" {
		t.Errorf("a member makes it larger: %v", err)
	}
	more.By = "noc"
	if _, err := w.modify(c, more); err != nil {
		t.Errorf("an operator makes it larger: %v", err)
	}
	batch := w.terms("a", "c", 1)
	batch.AboveSoftCap = true
	if _, err := w.requestAll(c, "4", true, batch); refusalIn(err).GetField() != "terms[0].above_soft_cap" {
		t.Errorf("a batch: %v", err)
	}
}

// Without a hard cap of its own there is nothing above the soft one, and nothing is offered there.
func TestOneCap(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	w.booked(c, "1", w.terms("a", "b", 5))
	w.booked(c, "2", w.terms("a", "b", 5))
	q, err := w.quote(c, w.terms("a", "b", 1))
	must(t, err)
	if offerOf(q.GetRefusal(), "ABOVE_SOFT_CAP") != nil {
		t.Errorf("offers %v", q.GetRefusal().GetOffers())
	}
	w.cfg.HardShare = 400
	if w.cfg.Validate() == nil {
		t.Error("a hard share below the soft one is valid")
	}
}

package circuits

import (
	"testing"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// scavenger are terms without a guaranteed rate.
func (w *world) scavenger() *circuitsv1.Terms {
	t := w.terms("a", "b", 0)
	t.Scavenger = true
	return t
}

// A scavenger has a path over links that are as good as full, of which it takes nothing that others could use, and what
// it sends is best effort.
func TestAScavengerTakesNothing(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	terms := w.terms("a", "b", 0)
	terms.RateBitsPerSecond = reservable - 2
	w.booked(c, "1", terms)
	got := w.booked(c, "2", w.scavenger())
	again := w.booked(c, "2", w.scavenger())
	if len(got.GetPath()) != 1 || got.GetSlots()[0].GetRateBitsPerSecond() != 1 || got.GetTerms().GetExcess() != circuitsv1.Excess_EXCESS_BEST_EFFORT || again.GetId() != got.GetId() {
		t.Errorf("booked %v, and again %s", got, again.GetId())
	}
	w.booked(c, "3", w.scavenger())
	if got := w.booked(c, "4", w.scavenger()); len(got.GetPath()) != 2 {
		t.Errorf("where nothing at all is free: %v", got.GetPath())
	}
	full := w.terms("a", "b", 0)
	full.RateBitsPerSecond = reservable - 1
	w.booked(c, "5", full)
	_, err := w.request(c, "6", w.scavenger(), true)
	no := refusalIn(err)
	if no.GetCode() != "CAPACITY" || len(no.GetOffers()) == 0 {
		t.Fatalf("where no path has anything: %v, %v", err, no)
	}
	for _, o := range no.GetOffers() {
		if q, err := w.quote(c, o.GetTerms()); err != nil || q.GetRefusal() != nil || !o.GetTerms().GetScavenger() {
			t.Errorf("offer %s is refused: %v, %v", o.GetKind(), q, err)
		}
	}
}

func TestWhatAScavengerCannotHave(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	first := int32(0)
	for field, change := range map[string]func(*circuitsv1.Terms){
		"rate_bits_per_second": func(t *circuitsv1.Terms) { t.RateBitsPerSecond = giga },
		"volume_bytes":         func(t *circuitsv1.Terms) { t.VolumeBytes = giga },
		"excess":               func(t *circuitsv1.Terms) { t.Excess = circuitsv1.Excess_EXCESS_DROP },
		"setup_priority":       func(t *circuitsv1.Terms) { t.SetupPriority = &first },
		"scavenger": func(t *circuitsv1.Terms) {
			t.FromPort, t.ToPort = &circuitsv1.Port{Name: "p1"}, &circuitsv1.Port{Name: "p1"}
		},
	} {
		terms := w.scavenger()
		change(terms)
		if _, err := w.request(c, "r", terms, true); refusalIn(err).GetField() != field || connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v, field %q", field, err, refusalIn(err).GetField())
		}
	}
	got := w.booked(c, "r", w.scavenger())
	_, err := (&api{c}).Modify(t.Context(), connect.NewRequest(&circuitsv1.ModifyRequest{Id: got.GetId(), By: "ann", Version: got.GetVersion(), RateBitsPerSecond: giga}))
	if refusalIn(err).GetField() != "rate_bits_per_second" {
		t.Errorf("a rate later: %v", err)
	}
}

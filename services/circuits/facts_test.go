package circuits

import (
	"testing"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// A bound on delay leads to the path that meets it, though another one has fewer links; what no path meets is refused
// with the least delay there is.
func TestABoundOnDelay(t *testing.T) {
	w := newWorld(t)
	w.delay = map[string]uint32{"a-b": 5000, "a-c": 1000, "b-c": 1000}
	c := w.start()
	within := func(most int64) *circuitsv1.Terms {
		terms := w.terms("a", "b", 1)
		terms.MaxDelayMicroseconds = most
		return terms
	}
	if got := w.booked(c, "1", within(5000)); len(got.GetPath()) != 1 {
		t.Errorf("within 5 ms: %v", got.GetPath())
	}
	if got := w.booked(c, "2", within(4999)); len(got.GetPath()) != 2 {
		t.Errorf("within less: %v", got.GetPath())
	}
	_, err := w.request(c, "3", within(1999), true)
	no := refusalIn(err)
	if no.GetCode() != "LATENCY" || len(no.GetOffers()) == 0 || no.GetOffers()[0].GetKind() != "SLOWER" {
		t.Fatalf("within less than there is: %v, %v", err, no)
	}
	if slower := no.GetOffers()[0].GetTerms(); slower.GetMaxDelayMicroseconds() != 2000 || len(w.booked(c, "3", slower).GetPath()) != 2 {
		t.Errorf("the offer: %v", slower)
	}
}

// A link of unknown delay meets no bound.
func TestABoundOnADelayThatIsNotKnown(t *testing.T) {
	w := newWorld(t)
	w.delay = map[string]uint32{"a-c": 1000, "b-c": 1000}
	c := w.start()
	terms := w.terms("a", "b", 1)
	terms.MaxDelayMicroseconds = 1_000_000
	if got := w.booked(c, "1", terms); len(got.GetPath()) != 2 {
		t.Errorf("a path over the link of unknown delay: %v", got.GetPath())
	}
}

// A circuit that is to be apart from another one shares no risk group with it either.
func TestApartFromAnotherCircuitsRisks(t *testing.T) {
	for name, tc := range map[string]struct {
		risks map[string][]uint32
		code  string
	}{
		"no risk in common":             {map[string][]uint32{"a-b": {7}, "a-c": {8}}, ""},
		"both leave a by the same duct": {map[string][]uint32{"a-b": {7}, "a-c": {8, 7}}, "NO_PATH"},
	} {
		w := newWorld(t)
		w.risks = tc.risks
		c := w.start()
		first := w.booked(c, "1", w.terms("a", "b", 1))
		terms := w.terms("a", "b", 1)
		terms.ApartFrom = []string{first.GetId()}
		got, err := w.request(c, "2", terms, true)
		switch {
		case tc.code == "" && (err != nil || len(got.GetPath()) != 2):
			t.Errorf("%s: %v, %v", name, got, err)
		case tc.code != "" && refusalIn(err).GetCode() != tc.code:
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if _, err := (&api{c}).Release(t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: first.GetId(), By: "ann"})); err != nil {
			t.Fatal(err)
		}
	}
}

package circuits

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func (w *world) requestAll(c *Component, id string, commit bool, terms ...*circuitsv1.Terms) ([]*circuitsv1.Circuit, error) {
	r, err := (&api{c}).RequestAll(w.t.Context(), connect.NewRequest(&circuitsv1.RequestAllRequest{RequestId: id, By: "ann", Commit: commit, Terms: terms}))
	if err != nil {
		return nil, err
	}
	return r.Msg.GetCircuits(), nil
}

// Circuits of a batch are decided on beside each other, and booked all or not at all.
func TestABatchIsBookedWholeOrNotAtAll(t *testing.T) {
	w := newWorld(t)
	c, other := w.start(), w.start()
	there, back := w.terms("a", "b", 5), w.terms("b", "a", 5)
	got, err := w.requestAll(c, "b", true, there, back, w.terms("a", "b", 5))
	if err != nil || len(got) != 3 || len(got[0].GetPath()) != 1 || len(got[2].GetPath()) != 2 || got[1].GetState() != scheduled {
		t.Fatalf("%v, %v", got, err)
	}
	again, err := w.requestAll(other, "b", true, there, back, w.terms("a", "b", 5))
	same := func(a, b *circuitsv1.Circuit) bool { return a.GetId() == b.GetId() }
	if err != nil || !slices.EqualFunc(again, got, same) {
		t.Errorf("again: %v, %v", again, err)
	}
	if _, err := w.requestAll(other, "b", true, there); connect.CodeOf(err) != connect.CodeAlreadyExists {
		t.Errorf("another batch under its id: %v", err)
	}
	_, err = w.requestAll(c, "c", true, w.terms("b", "a", 5), w.terms("c", "a", 1))
	if no := refusalIn(err); no.GetCode() != "CAPACITY" || no.GetField() != "terms[1]" {
		t.Errorf("the second of two lacks room: %v, %v", err, no)
	}
	if q, err := w.quote(c, w.terms("b", "a", 5)); err != nil || q.GetRefusal() != nil {
		t.Errorf("the first of them is booked: %v, %v", q, err)
	}
	if held, err := w.requestAll(c, "d", false, w.terms("b", "a", 1), w.terms("b", "a", 1)); err != nil || held[1].GetState() != held[0].GetState() || held[0].GetExpires() == nil {
		t.Errorf("held: %v, %v", held, err)
	}
}

func TestABatchThatMeansNothing(t *testing.T) {
	w := newWorld(t)
	w.cfg.Projects["astro"] = Project{Members: []string{"ann"}, ConcurrentMbit: 3000, Holds: 2}
	c := w.start()
	bad := w.terms("a", "b", 1)
	bad.Project = "bio"
	many := slices.Repeat([]*circuitsv1.Terms{w.terms("a", "b", 1)}, 21)
	for name, tc := range map[string]struct {
		terms []*circuitsv1.Terms
		field string
	}{
		"nothing":         {nil, "terms"},
		"too many":        {many, "terms"},
		"two projects":    {[]*circuitsv1.Terms{w.terms("a", "b", 1), bad}, "terms[1].project"},
		"no router":       {[]*circuitsv1.Terms{w.terms("a", "b", 1), w.terms("a", "nowhere", 1)}, "terms[1].to"},
		"no terms":        {[]*circuitsv1.Terms{w.terms("a", "b", 1), nil}, "terms[1].terms"},
		"above the quota": {[]*circuitsv1.Terms{w.terms("a", "b", 2), w.terms("a", "c", 2)}, "terms[1].rate_bits_per_second"},
		"too many holds":  {[]*circuitsv1.Terms{w.terms("a", "b", 1), w.terms("a", "b", 1), w.terms("a", "b", 1)}, "terms[2]"},
	} {
		if _, err := w.requestAll(c, "r", false, tc.terms...); refusalIn(err).GetField() != tc.field {
			t.Errorf("%s: %v, field %q; want %q", name, err, refusalIn(err).GetField(), tc.field)
		}
	}
	if got, err := w.requestAll(c, "r", false, w.terms("a", "b", 1), w.terms("a", "b", 1)); err != nil || len(got) != 2 {
		t.Errorf("what was refused used its id, or its holds: %v, %v", got, err)
	}
}

// Batches of two replicas that want the same links: none is booked in part.
func TestBatchesAtOnce(t *testing.T) {
	w := newWorld(t)
	replicas := []*Component{w.start(), w.start()}
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			from, to := []string{"a", "b", "c"}[i%3], []string{"b", "c", "a"}[i%3]
			_, err := w.requestAll(replicas[i%2], fmt.Sprint(i), true, w.terms(from, to, 2), w.terms(to, from, 2), w.terms(from, to, 1))
			if err != nil && refusalIn(err).GetCode() != "CAPACITY" {
				t.Error(err)
			}
		})
	}
	all.Wait()
	late := w.start()
	r, err := (&api{late}).List(t.Context(), connect.NewRequest(&circuitsv1.ListRequest{PageSize: 1000}))
	if err != nil {
		t.Fatal(err)
	}
	used, of := map[string]int64{}, map[string]int{}
	for _, one := range r.Msg.GetCircuits() {
		of[one.GetRequestId()]++
		for _, h := range one.GetPath() {
			used[h.GetLink()] += one.GetSlots()[0].GetRateBitsPerSecond()
		}
	}
	for id, n := range of {
		if n != 3 {
			t.Errorf("batch %s has %d circuits", id, n)
		}
	}
	for link, sum := range used {
		if sum > reservable {
			t.Errorf("%s: %d of %d", link, sum, int64(reservable))
		}
	}
	if len(of) < 3 {
		t.Errorf("%d batches", len(of))
	}
}

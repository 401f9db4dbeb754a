package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/program"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

func dialled(t *testing.T, server *etcd.Server) *state.Store {
	t.Helper()
	s, err := state.Dial([]string{server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestABookOfLastWeek: an etcd is put back as it was, under a replica that has followed it since. What was booked
// since is not there any more, and has no capacity; what another replica wrote at a revision that this one has seen is
// not taken for what was written there; and a booking is in the book when it is answered, though its revision is an
// earlier one than those that were seen.
func TestABookOfLastWeek(t *testing.T) {
	server := etcd.Start(t, program.OwnHost())
	r := ready(t, start(t, dialled(t, server)))
	night := calendar.Window{Start: 1, End: 9}
	if _, err := r.book(t.Context(), "kept", night, 3, "a-b"); err != nil {
		t.Fatal(err)
	}
	server.Keep(t)
	await.True(t, "the kept circuit is committed", func() bool {
		return r.tell(t.Context(), "c-kept", life.Event{Kind: life.Commit, By: "ann"}) == nil
	})
	for i := range 20 {
		if _, err := r.book(t.Context(), fmt.Sprint("lost-", i), night, 1, "b-c"); err != nil && !errors.Is(err, errFull) {
			t.Fatal(err)
		}
	}
	r.stop()
	server.PutBack(t)
	server.Again(t)
	other := ready(t, start(t, dialled(t, server)))
	if err := other.tell(t.Context(), "c-kept", life.Event{Kind: life.Release, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	followed := make(chan struct{})
	go func() { r.Follow(ctx); close(followed) }()
	t.Cleanup(func() { stop(); <-followed })
	await.True(t, "what was booked since is gone", func() bool {
		_, err := r.Get("c-lost-0")
		return errors.Is(err, ledger.ErrNoCircuit)
	})
	is, err := r.Get("c-kept")
	if now, _ := other.Get("c-kept"); err != nil || is.GetCircuit().GetState() != now.GetCircuit().GetState() {
		t.Errorf("the kept circuit is %v, %v; etcd has %v", is.GetCircuit().GetState(), err, now.GetCircuit().GetState())
	}
	for _, l := range links {
		if _, err := r.book(t.Context(), "next-"+l, night, capacity, l); err != nil {
			t.Errorf("all of %s: %v", l, err)
		}
		if is, err := r.Get("c-next-" + l); err != nil || is.GetCircuit().GetState() != circuitsv1.State_STATE_HELD {
			t.Errorf("it is answered, and in the book it is %v, %v", is, err)
		}
	}
}

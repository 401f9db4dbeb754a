package state_test

import (
	"context"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
)

func leads(t *testing.T, l *state.Leader) bool {
	t.Helper()
	var got bool
	await.True(t, "etcd answers in time", func() (ok bool) { // which it does not always do beside other work
		var err error
		got, err = l.Leads(t.Context())
		return err == nil
	})
	if got != l.Held() || got != (l.Gauge() == 1) {
		t.Fatalf("it leads: %t, and says %t, %g", got, l.Held(), l.Gauge())
	}
	return got
}

// Of two replicas one leads, for as long as it lives, and who it is can be read by all.
func TestOneReplicaLeads(t *testing.T) {
	s := etcd.Shared(t)
	first, second := state.NewLeader(s, "a/leader", "first"), state.NewLeader(s, "a/leader", "second")
	if !leads(t, first) || leads(t, second) || !leads(t, first) {
		t.Fatal("the first that asks leads, and no other")
	}
	if who, err := s.Holder(t.Context(), "a/leader"); who != "first" || err != nil {
		t.Errorf("%q leads, %v", who, err)
	}
	first.Resign()
	if first.Held() {
		t.Error("who has resigned leads")
	}
	if !leads(t, second) || leads(t, first) {
		t.Error("the first has resigned, and the second does not lead")
	}
	second.Resign()
	if who, err := s.Holder(t.Context(), "a/leader"); who != "" || err != nil {
		t.Errorf("%q leads, %v", who, err)
	}
	first.Resign() // which is nothing
}

// The lead ends with the life that it was taken for, and comes back by the next question.
func TestALeadEndsWithItsLife(t *testing.T) {
	s := etcd.Shared(t)
	first, second := state.NewLeader(s, "b/leader", "first"), state.NewLeader(s, "b/leader", "second")
	life, end := context.WithCancel(t.Context())
	if got, err := first.Leads(life); !got || err != nil {
		t.Fatal(got, err)
	}
	end()
	await.True(t, "the first leads no more", func() bool { return !first.Held() })
	first.Resign()
	if !leads(t, second) {
		t.Error("nobody leads")
	}
	second.Resign()
}

// A replica whose host dies renews nothing: its lease ends, and another one leads without its doing.
func TestALeadIsTakenOverFromTheDead(t *testing.T) {
	s := etcd.Shared(t)
	first, second := state.NewLeader(s, "c/leader", "first"), state.NewLeader(s, "c/leader", "second")
	life, dies := context.WithCancel(t.Context())
	if got, err := first.Leads(life); !got || err != nil {
		t.Fatal(got, err)
	}
	dies()
	await.True(t, "the second leads", func() bool { return leads(t, second) })
	second.Resign()
}

// Etcd that does not answer is an error, and holds nobody up.
func TestALeadWithoutEtcd(t *testing.T) {
	away, err := state.Dial([]string{"http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	l := state.NewLeader(away, "d/leader", "first")
	if got, err := l.Leads(t.Context()); got || err == nil || l.Held() {
		t.Errorf("%t, %v", got, err)
	}
	if a, b := state.Replica(), state.Replica(); a == b || a == "" {
		t.Errorf("two replicas are called %q and %q", a, b)
	}
	if 2600*time.Millisecond+state.LeaderLease+time.Second+500*time.Millisecond+state.LeaderLook > 10100*time.Millisecond {
		t.Errorf("a lease of %s leaves another replica too little of its 15 s", state.LeaderLease)
	}
}

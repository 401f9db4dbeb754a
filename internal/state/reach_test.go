package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/program"
)

func TestMembersThatAreLeft(t *testing.T) {
	for _, tt := range []struct {
		name   string
		silent map[string]bool
		leaves bool
	}{
		{"it answers", map[string]bool{"a": false, "b": false}, false},
		{"another one is silent", map[string]bool{"a": false, "b": true}, false},
		{"it is silent, and another one answers", map[string]bool{"a": true, "b": false}, true},
		{"one of several answers", map[string]bool{"a": true, "b": true, "c": false}, true},
		{"all are silent", map[string]bool{"a": true, "b": true}, false},
		{"there is no other", map[string]bool{"a": true}, false},
		{"nothing is known", nil, false},
	} {
		if got := state.Leaves(tt.silent, "a"); got != tt.leaves {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// Both addresses are those of one server, behind links that stall: a member's process that stands still, whose host
// goes on. Everything goes on at the other address, also watches and leases, until the member is back, at first for new
// connections alone, as after a long cut.
func TestAMemberThatStandsStillIsLeft(t *testing.T) {
	host := program.OwnHost()
	server := etcd.Start(t, host)
	to := strings.TrimPrefix(server.URL, "http://")
	links := []*faults.Link{faults.NewLink(t, host+":0", to), faults.NewLink(t, host+":0", to)}
	s, err := state.Dial([]string{"http://" + links[0].Address(), "http://" + links[1].Address()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	silent := func(n int) func() bool {
		return func() bool { is, _ := s.Reaches(); return is == n }
	}
	await.True(t, "both answer", silent(0))
	lock, err := s.Lock(t.Context(), "one", time.Hour, "reach/lock")
	if err != nil {
		t.Fatal(err)
	}
	for _, stalled := range links {
		a := join(t, s, stalled.Address())
		a.told(t, stalled.Address())
		stalled.Set(faults.Condition{StallForth: true, StallBack: true})
		await.True(t, "the member is left", func() bool { _, left := s.Reaches(); return left == 1 })
		for range 4 { // each other one would wait at the member that stands still
			await.True(t, "the lock is held", func() bool { return lock.Check(t.Context()) == nil })
		}
		b := join(t, s, "another")
		a.told(t, stalled.Address(), "another") // digits come before letters
		b.end()
		a.end()
		stalled.Set(faults.Condition{Stuck: true})
		await.True(t, "the member is back", func() bool { _, left := s.Reaches(); return left == 0 })
	}
}

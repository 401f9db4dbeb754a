package topology

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/topo"
)

func TestMain(m *testing.M) { os.Exit(etcd.Main(m)) }

// sharing has a rig's collector elect its leader with others in the store.
func (r *rig) sharing(s *state.Store, name string) {
	r.leads, r.leader = false, state.NewLeader(s, KeyLeader, name)
}

// Of two replicas one reads and publishes. When it ends, the other does, at its next turn.
func TestOneReplicaReads(t *testing.T) {
	s := etcd.Shared(t)
	often := func(c *Configuration) { c.Interval = time.Millisecond }
	first, second := newRig(t, often), newRig(t, often)
	first.sharing(s, "first")
	second.sharing(s, "second")
	first.turn(t.Context())
	second.turn(t.Context())
	next(t, first.snapshots)
	if n := len(second.snapshots) + len(second.events); n != 0 {
		t.Errorf("the replica that does not lead published %d messages", n)
	}
	// What somebody requests of it is read and published, without events, which the leader raised.
	if err := second.read(t.Context(), requested); err != nil {
		t.Fatal(err)
	}
	next(t, second.snapshots)
	if n := len(second.events); n != 0 {
		t.Errorf("%d events of the replica that does not lead", n)
	}
	first.leader.Resign()
	second.published = map[string]topo.Snapshot{}
	second.turn(t.Context())
	next(t, second.snapshots)
	if !second.leader.Held() || first.leader.Held() {
		t.Error("the first has ended, and the second does not lead")
	}
	second.leader.Resign()
}

// A leader to whom no router answers gives the lead away, so that a replica that reaches them reads.
func TestALeaderThatReadsNothingStandsBack(t *testing.T) {
	s := etcd.Shared(t)
	r := newRig(t, func(c *Configuration) { c.Interval, c.Timeout = time.Millisecond, time.Second })
	r.sharing(s, "first")
	for _, router := range r.servers {
		router.Serve(pathProtocols, "")
	}
	for range leaderTries {
		if r.turns.last = (time.Time{}); r.turns.failed > 0 && !r.leader.Held() {
			t.Fatal("it stood back early")
		}
		r.turn(t.Context())
	}
	if r.leader.Held() || r.leads {
		t.Error("it leads, though it reads nothing")
	}
	if who, err := s.Holder(t.Context(), KeyLeader); who != "" || err != nil {
		t.Errorf("%q leads, %v", who, err)
	}
}

func TestTurns(t *testing.T) {
	cfg := DefaultConfiguration()
	now, broken := time.Unix(1e9, 0), errors.New("no router answers")
	for _, c := range []struct {
		name string
		t    turns
		due  bool
	}{
		{"the first", turns{}, true},
		{"just read", turns{last: now}, false},
		{"read half an interval ago", turns{last: now.Add(-cfg.Interval / 2)}, false},
		{"read an interval ago, but for a part of a look", turns{last: now.Add(-cfg.Interval + 100*time.Millisecond)}, true},
	} {
		if got := c.t.due(now, cfg); got != c.due {
			t.Errorf("%s: due is %t", c.name, got)
		}
	}
	is, stand := turns{}, false
	ended := now.Add(10 * cfg.look()) // routers that drop packets
	for i := 1; i <= leaderTries; i++ {
		if is, stand = is.after(now, ended, broken, cfg); stand != (i == leaderTries) {
			t.Errorf("after %d readings that failed it stands back: %t", i, stand)
		}
	}
	if is.failed != 0 || !is.broken || !is.last.Equal(now) || !is.back.After(ended.Add(cfg.look())) || is.back.After(ended.Add(cfg.Interval)) {
		t.Errorf("it stands back until %s after the reading: longer than another replica takes to look, and less than an interval", is.back.Sub(ended))
	}
	if is, stand = is.after(now, ended, nil, cfg); stand || is.failed != 0 || is.broken || !is.back.IsZero() {
		t.Errorf("after one that succeeded: %+v", is)
	}
}

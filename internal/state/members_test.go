package state_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
)

// member keeps what a replica hears.
type member struct {
	mu    sync.Mutex
	names []string
	end   func()
}

func join(t *testing.T, s *state.Store, name string) *member {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m := &member{}
	var running sync.WaitGroup
	running.Go(func() {
		s.Members(ctx, "part/members/", name, func(names []string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.names = names
		})
	})
	m.end = func() { cancel(); running.Wait() }
	t.Cleanup(m.end)
	return m
}

func (m *member) told(t *testing.T, want ...string) {
	t.Helper()
	await.True(t, "members are known", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return slices.Equal(m.names, want)
	})
}

// Replicas know each other, and that one has gone, also where it gave no notice.
func TestMembersKnowEachOther(t *testing.T) {
	s := etcd.Shared(t)
	a := join(t, s, "a")
	a.told(t, "a")
	b := join(t, s, "b")
	a.told(t, "a", "b")
	b.told(t, "a", "b")
	a.end()
	b.told(t, "b")
	life, dies := context.WithCancel(t.Context())
	if _, err := s.Lock(life, "c", time.Second, "part/members/c"); err != nil {
		t.Fatal(err)
	}
	b.told(t, "b", "c")
	dies() // and releases nothing, but does not renew its lease
	b.told(t, "b")
}

// A replica whose lease was lost, as that of one that stood still, is listed again.
func TestAMemberWhoseLeaseIsLostComesBack(t *testing.T) {
	s := etcd.Shared(t)
	a := join(t, s, "a")
	b := join(t, s, "b")
	a.told(t, "a", "b")
	b.told(t, "a", "b")
	before, err := s.List(t.Context(), "part/members/b")
	if err != nil || len(before) != 1 {
		t.Fatal(before, err)
	}
	if err := s.DeleteBelow(t.Context(), "part/members/b", "part/members/b", before[0].Revision); err != nil {
		t.Fatal(err)
	}
	await.True(t, "b is listed again", func() bool {
		after, err := s.List(t.Context(), "part/members/b")
		return err == nil && len(after) == 1 && after[0].Revision > before[0].Revision
	})
	a.told(t, "a", "b")
	b.told(t, "a", "b")
}

// Without etcd a replica takes itself for the only one, after a while.
func TestAMemberWithoutEtcdIsAlone(t *testing.T) {
	away, err := state.Dial([]string{"http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	a := join(t, away, "a")
	a.told(t, "a")
	a.end()
}

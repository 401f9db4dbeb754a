package state_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
)

// long is a lease that does not expire within a test.
const long = time.Hour

func TestLock(t *testing.T) {
	s := etcd.Shared(t)
	lock := func(t *testing.T, owner string, keys ...string) *state.Lock {
		t.Helper()
		l, err := s.Lock(t.Context(), owner, long, keys...)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	t.Run("another owner gets all keys or none, and is told who holds one", func(t *testing.T) {
		held := lock(t, "c-1", "all/b")
		_, err := s.Lock(t.Context(), "c-2", long, "all/a", "all/b", "all/c")
		var holder *state.HeldError
		if !errors.As(err, &holder) || *holder != (state.HeldError{Key: "all/b", Owner: "c-1"}) {
			t.Errorf("got %v, want a HeldError of all/b by c-1", err)
		}
		held.Release()
		if got := lockedKeys(t, s, "all/"); len(got) != 0 {
			t.Errorf("%v is locked by nobody's change set", got)
		}
		lock(t, "c-2", "all/a", "all/b", "all/c").Release()
	})
	t.Run("the same owner does not get what another process of it holds", func(t *testing.T) {
		held := lock(t, "c-1", "over/a")
		if _, err := s.Lock(t.Context(), "c-1", long, "over/a"); !errors.As(err, new(*state.HeldError)) {
			t.Errorf("got %v, want a HeldError", err)
		}
		held.Release()
	})
	t.Run("who lost the lock writes nothing, and later locks have higher revisions", func(t *testing.T) {
		first := lock(t, "c-1", "fence/a", "fence/b")
		if err := first.Check(t.Context()); err != nil {
			t.Error(err)
		}
		written, err := first.Put(t.Context(), "fenced", 0, wrapperspb.String("first"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := first.Put(t.Context(), "fenced", 0, wrapperspb.String("stale")); !errors.Is(err, state.ErrConflict) || errors.Is(err, state.ErrLockLost) {
			t.Errorf("a write at an old revision: %v, want a conflict alone", err)
		}
		first.Release()
		second := lock(t, "c-2", "fence/b")
		defer second.Release()
		if _, err := first.Put(t.Context(), "fenced", written, wrapperspb.String("late")); !errors.Is(err, state.ErrLockLost) {
			t.Errorf("a write without the lock: %v", err)
		}
		if err := first.Check(t.Context()); !errors.Is(err, state.ErrLockLost) {
			t.Errorf("the first holder finds %v", err)
		}
		if second.Revision() <= first.Revision() {
			t.Errorf("revision %d after %d", second.Revision(), first.Revision())
		}
	})
	t.Run("release works after the context has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l, err := s.Lock(ctx, "c-1", long, "ended/a")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		l.Release()
		lock(t, "c-2", "ended/a").Release()
	})
}

// TestALockOutlivesItsTTLButNotItsHolder has a lease whose holder goes on, and one whose holder ends. That the first is
// renewed is seen in etcd, where the rest of its life grows; its life is one that no busy machine sleeps through.
func TestALockOutlivesItsTTLButNotItsHolder(t *testing.T) {
	server := start(t, t.TempDir())
	s := server.Store()
	hold := func(key string, ttl time.Duration) (die context.CancelFunc) {
		ctx, die := context.WithCancel(t.Context())
		if _, err := s.Lock(ctx, "c-1", ttl, key); err != nil {
			t.Fatal(err)
		}
		return die
	}
	alive := hold("alive", renewed)
	left := remaining(t, server)
	least := left()
	await.True(t, "the lease is renewed", func() bool {
		now := left()
		least = min(least, now)
		return now > least
	})
	if _, err := s.Lock(t.Context(), "c-2", long, "alive"); !errors.As(err, new(*state.HeldError)) {
		t.Errorf("a living holder's lock after a renewal: got %v, want a HeldError", err)
	}
	alive()
	hold("dead", time.Second)()
	free(t, s, "dead")
}

// renewed is the life of a lease that is renewed within a test, after a third of it.
const renewed = 9 * time.Second

// remaining returns the rest of the life of the only lease there is, in seconds.
func remaining(t *testing.T, server *state.Embedded) func() int64 {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	all, err := client.Leases(t.Context())
	if err != nil || len(all.Leases) != 1 {
		t.Fatalf("%d leases: %v", len(all.Leases), err)
	}
	return func() int64 {
		r, err := client.TimeToLive(t.Context(), all.Leases[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		return r.TTL
	}
}

// free waits until the key can be locked.
func free(t *testing.T, s *state.Store, key string) {
	t.Helper()
	for {
		l, err := s.Lock(t.Context(), "c-2", long, key)
		if err == nil {
			l.Release()
			return
		}
		if !errors.As(err, new(*state.HeldError)) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func lockedKeys(t *testing.T, s *state.Store, prefix string) []string {
	t.Helper()
	entries, err := s.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Key)
	}
	return out
}

// A process that was stopped for longer than the lease lived finds out that its locks are gone.
func TestALockTellsThatItsLeaseIsGone(t *testing.T) {
	server := start(t, t.TempDir())
	calm, err := server.Store().Lock(t.Context(), "c-1", long, "kept/a")
	if err != nil {
		t.Fatal(err)
	}
	goesOn, stop := calm.Context(t.Context())
	defer stop()
	other, end := calm.Context(t.Context())
	if end(); !errors.Is(context.Cause(other), context.Canceled) || goesOn.Err() != nil {
		t.Errorf("while the lock is held: %v, and %v of the context that was ended", goesOn.Err(), context.Cause(other))
	}
	// This one is renewed so often that its holder soon hears that it is gone.
	l, err := server.Store().Lock(t.Context(), "c-1", time.Second, "lost/a")
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	held, release := l.Context(t.Context())
	defer release()
	leases, err := client.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases.Leases {
		if _, err := client.Revoke(t.Context(), lease.ID); err != nil {
			t.Fatal(err)
		}
	}
	<-l.Lost()
	<-held.Done()
	if !errors.Is(context.Cause(held), state.ErrLockLost) {
		t.Errorf("the context of the lock ends with %v", context.Cause(held))
	}
}

func TestTheContextOfALockEndsWithItsParent(t *testing.T) {
	l, err := etcd.Shared(t).Lock(t.Context(), "c-1", long, "context/a")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	parent, end := context.WithCancelCause(t.Context())
	ctx, stop := l.Context(parent)
	defer stop()
	why := errors.New("the process stops")
	end(why)
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), why) {
		t.Errorf("it ends with %v", context.Cause(ctx))
	}
}

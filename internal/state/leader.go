package state

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// LeaderLease is how long after the end of a replica its lead is free. The longest way to another leader, within
	// 15 s, is where etcd's own leader was on the same host: up to 2.6 s until etcd elects, which gives every lease its
	// whole time again and a second more, half a second at which etcd looks for leases that ended, and LeaderLook:
	// 10.1 s on a machine that has time for it. It is renewed every third of it; a member of etcd that stands still is
	// left within 3 s.
	LeaderLease = 5 * time.Second
	// LeaderLook is how often a replica that does not lead looks whether another one does.
	LeaderLook = time.Second
	// leaderPatience bounds one look at who leads: etcd that does not answer does not hold up the work.
	leaderPatience = 3 * time.Second
)

// Leader is whether this replica leads something, which one replica does: it holds a key of etcd under a lease.
type Leader struct {
	store     *Store
	key, name string

	// mu is held while etcd is asked, lock is read without it: a metric does not wait for etcd.
	mu   sync.Mutex
	lock atomic.Pointer[Lock] // nil unless held
}

// Replica is a name for this process among replicas, which a person can find: its host, its number, and chance, since
// both come again.
func Replica() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text()[:6])
}

// NewLeader is one that has not looked yet. The key is the same at all replicas, the name is another one at each.
func NewLeader(store *Store, key, name string) *Leader {
	return &Leader{store: store, key: key, name: name}
}

// Leads takes the lead where no replica has it. The lead ends with life, or by Resign.
func (l *Leader) Leads(life context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock := l.lock.Load(); lock != nil {
		if lock.alive() {
			return true, nil
		}
		l.free()
	}
	held, err := l.held(life)
	if held || err != nil {
		return false, err
	}
	return l.take(life)
}

// held reads who leads: a replica that waits writes nothing.
func (l *Leader) held(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, leaderPatience)
	defer cancel()
	owner, err := l.store.Holder(ctx, l.key)
	return owner != "", err
}

// take ends its request, and not the lead, when etcd takes too long.
func (l *Leader) take(life context.Context) (bool, error) {
	ctx, cancel := context.WithCancel(life)
	late := time.AfterFunc(leaderPatience, cancel)
	lock, err := l.store.Lock(ctx, l.name, LeaderLease, l.key)
	if !late.Stop() && err == nil {
		lock.Release()
		err = context.DeadlineExceeded
	}
	var other *HeldError
	switch {
	case errors.As(err, &other):
		cancel()
		return false, nil
	case err != nil:
		cancel()
		return false, fmt.Errorf("take the lead %s: %w", l.key, err)
	}
	l.lock.Store(lock)
	return true, nil
}

// Held reports whether this replica leads as far as it knows, without a look at etcd.
func (l *Leader) Held() bool {
	lock := l.lock.Load()
	return lock != nil && lock.alive()
}

// Gauge is Held for a metric: 1 or 0.
func (l *Leader) Gauge() float64 {
	if l.Held() {
		return 1
	}
	return 0
}

// Resign lets another replica take the lead at once.
func (l *Leader) Resign() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free()
}

func (l *Leader) free() {
	if lock := l.lock.Swap(nil); lock != nil {
		lock.Release()
	}
}

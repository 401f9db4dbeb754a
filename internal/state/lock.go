package state

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Lock is a set of keys held under one etcd lease: if this process dies, the lease expires and the keys are free.
type Lock struct {
	store *Store
	lease clientv3.LeaseID
	stop  context.CancelFunc
	lost  chan struct{}
}

// Lost is closed when the lease is not renewed any more: after a while the keys are somebody else's.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// HeldError is the error of a Lock that another owner holds.
type HeldError struct{ Key, Owner string }

func (e *HeldError) Error() string { return fmt.Sprintf("%s is locked by %s", e.Key, e.Owner) }

// releaseTimeout bounds a release while etcd does not answer; the lease then expires.
const releaseTimeout = 2 * time.Second

// Lock takes all keys or none, and renews the lease until Release or the end of ctx. A key that owner holds already is
// taken over: a process that died left it. ttl is the life of the lease after the last renewal, at least a second.
func (s *Store) Lock(ctx context.Context, owner string, ttl time.Duration, keys ...string) (*Lock, error) {
	grant, err := s.client.Grant(ctx, max(int64(ttl.Seconds()), 1))
	if err != nil {
		return nil, fmt.Errorf("get a lease for locks from etcd: %w", err)
	}
	renew, stop := context.WithCancel(ctx)
	l := &Lock{store: s, lease: grant.ID, stop: stop, lost: make(chan struct{})}
	renewed, err := s.client.KeepAlive(renew, grant.ID)
	if err != nil {
		l.Release()
		return nil, fmt.Errorf("renew the lease of locks: %w", err)
	}
	go func() {
		defer close(l.lost)
		for range renewed { //nolint:revive // the client wants its answers taken
		}
	}()
	for _, key := range keys {
		if err := l.take(ctx, key, owner); err != nil {
			l.Release()
			return nil, err
		}
	}
	return l, nil
}

func (l *Lock) take(ctx context.Context, key, owner string) error {
	full := l.store.root + key
	put := clientv3.OpPut(full, owner, clientv3.WithLease(l.lease))
	r, err := l.store.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(full), "=", 0)).
		Then(put).
		Else(clientv3.OpGet(full)).
		Commit()
	if err != nil {
		return fmt.Errorf("lock %s in etcd: %w", key, err)
	}
	if r.Succeeded {
		return nil
	}
	kv := r.Responses[0].GetResponseRange().Kvs[0]
	if string(kv.Value) != owner {
		return &HeldError{Key: key, Owner: string(kv.Value)}
	}
	over, err := l.store.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(full), "=", kv.ModRevision)).Then(put).Commit()
	if err != nil {
		return fmt.Errorf("take over the lock %s in etcd: %w", key, err)
	}
	if !over.Succeeded {
		return fmt.Errorf("take over the lock %s: %w", key, ErrConflict)
	}
	return nil
}

// Release frees all keys, also when the context that Lock was given has ended.
func (l *Lock) Release() {
	l.stop()
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	l.store.client.Revoke(ctx, l.lease) //nolint:errcheck // it expires by itself
}

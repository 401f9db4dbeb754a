package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
)

// Lock is a set of keys held under one etcd lease: if this process ends, the lease expires and the keys are
// free.
type Lock struct {
	store *Store
	lease clientv3.LeaseID
	stop  context.CancelFunc
	lost  chan struct{}
	// fence is the last key that was taken, revision the one at which it was: higher than that of every earlier
	// lock that shares a key with this one, because those were free again before.
	fence    string
	revision int64
}

// Revision numbers locks: of two that share a key, the later has the higher.
func (l *Lock) Revision() int64 { return l.revision }

// ErrLockLost means that the keys are not held any more; another owner may hold them.
var ErrLockLost = errors.New("the lock is lost")

// Lost is closed when the lease is not renewed any more: after a while another owner may have the keys.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// alive is true until Lost is closed.
func (l *Lock) alive() bool {
	select {
	case <-l.lost:
		return false
	default:
		return true
	}
}

// Context ends with another one, and when the lock is lost, with ErrLockLost as its cause.
func (l *Lock) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-l.lost:
			end(ErrLockLost)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { end(nil) }
}

// HeldError is the error of a Lock that another owner holds.
type HeldError struct{ Key, Owner string }

func (e *HeldError) Error() string { return fmt.Sprintf("%s is locked by %s", e.Key, e.Owner) }

// Holder is the owner that holds a key of Lock; empty: nobody does.
func (s *Store) Holder(ctx context.Context, key string) (string, error) {
	r, err := s.client.Get(ctx, s.root+key)
	if err != nil {
		return "", fmt.Errorf("read who holds %s from etcd: %w", key, err)
	}
	if len(r.Kvs) == 0 {
		return "", nil
	}
	return string(r.Kvs[0].Value), nil
}

// releaseTimeout bounds a release while etcd does not answer; the lease then expires.
const releaseTimeout = 2 * time.Second

// Lock takes all keys or none, and renews the lease until Release or the end of ctx. A key that is held is
// not taken over: if its holder ended, it is free when the lease expires. ttl is the life of the lease
// after the last renewal, at least a second.
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
		for range renewed { //nolint:revive // the client requires that its answers are read
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
	if !r.Succeeded {
		return &HeldError{Key: key, Owner: string(r.Responses[0].GetResponseRange().Kvs[0].Value)}
	}
	l.fence, l.revision = full, r.Header.Revision
	return nil
}

// held is true as long as no other owner can have the keys.
func (l *Lock) held() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(l.fence), "=", l.revision)
}

// Check reads from etcd whether the keys are still held; ErrLockLost if not.
func (l *Lock) Check(ctx context.Context) error {
	r, err := l.store.client.Txn(ctx).If(l.held()).Commit()
	switch {
	case err != nil:
		return fmt.Errorf("look for a lock in etcd: %w", err)
	case !r.Succeeded:
		return ErrLockLost
	}
	return nil
}

// Put is Store.Put for the holder of the keys: with ErrLockLost nothing was written.
func (l *Lock) Put(ctx context.Context, key string, revision int64, m proto.Message) (int64, error) {
	written, err := l.store.put(ctx, key, revision, m, l.held())
	if !errors.Is(err, ErrConflict) {
		return written, err
	}
	return 0, errors.Join(l.Check(ctx), err)
}

// Release frees all keys, also when the context that Lock was given has ended.
func (l *Lock) Release() {
	l.stop()
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	l.store.client.Revoke(ctx, l.lease) //nolint:errcheck // it expires by itself
}

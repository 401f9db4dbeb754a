package push

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/millrace/millrace/internal/state"
)

// locks are the per-router locks one change set holds, on one etcd lease: if
// this process dies they fall with it.
type locks struct {
	client *clientv3.Client
	lease  clientv3.LeaseID
	stop   context.CancelFunc
}

// releaseTimeout bounds the goodbye to etcd.
const releaseTimeout = 2 * time.Second

func lockKey(router string) string { return state.Prefix + "locks/routers/" + router }

// lock takes the locks of all routers or none. A lock of the same change set
// is taken over: it is left from a process that died.
func (c *Component) lock(ctx context.Context, owner string, routers []string) (*locks, error) {
	client := c.deps.Store.Client()
	grant, err := client.Grant(ctx, max(int64(c.cfg.LockTTL.Seconds()), 1))
	if err != nil {
		return nil, fmt.Errorf("get a lease for router locks: %w", err)
	}
	keep, stop := context.WithCancel(ctx)
	l := &locks{client: client, lease: grant.ID, stop: stop}
	beats, err := client.KeepAlive(keep, grant.ID)
	if err != nil {
		l.release()
		return nil, fmt.Errorf("keep router locks alive: %w", err)
	}
	go func() {
		for range beats { //nolint:revive // the client wants its answers taken
		}
	}()
	for _, router := range routers {
		if err := l.take(ctx, lockKey(router), owner, router); err != nil {
			l.release()
			return nil, err
		}
	}
	return l, nil
}

func (l *locks) take(ctx context.Context, key, owner, router string) error {
	r, err := l.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, owner, clientv3.WithLease(l.lease))).
		Else(clientv3.OpGet(key)).
		Commit()
	if err != nil {
		return fmt.Errorf("lock router %s: %w", router, err)
	}
	if r.Succeeded {
		return nil
	}
	kv := r.Responses[0].GetResponseRange().Kvs[0]
	if string(kv.Value) != owner {
		return fmt.Errorf("router %s is locked by change set %s, which is being applied; try again when it is done", router, kv.Value)
	}
	over, err := l.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(key), "=", kv.ModRevision)).
		Then(clientv3.OpPut(key, owner, clientv3.WithLease(l.lease))).
		Commit()
	if err != nil || !over.Succeeded {
		return fmt.Errorf("take over the lock of router %s: it changed just now (%v)", router, err)
	}
	return nil
}

// release gives all locks back, also when the change set's own context has ended.
func (l *locks) release() {
	l.stop()
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	l.client.Revoke(ctx, l.lease) //nolint:errcheck // it expires by itself
}

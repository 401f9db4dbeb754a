package state

import (
	"context"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Fault is the failure of one request to etcd.
type Fault int

// The faults.
const (
	// None: etcd answers.
	None Fault = iota
	// Refused: etcd has no leader, returns that error, and does nothing.
	Refused
	// AnswerLost: etcd writes, and its answer does not come. A read is Refused.
	AnswerLost
)

// WithFaults is the same store with faults, for tests of its users. of is called before each read with the
// key or the prefix, before each write of a key with its value, and before each response of a watch with
// its prefix: a watch that is Refused ends as if its revisions were compacted. Leases always work.
func (s *Store) WithFaults(of func(key string, value []byte) Fault) *Store {
	client := clientv3.NewCtxClient(context.Background())
	client.KV = faultyKV{s.client.KV, func(key, value []byte) Fault { return of(strings.TrimPrefix(string(key), s.root), value) }}
	client.Lease, client.Maintenance = s.client.Lease, s.client.Maintenance
	client.Watcher = faultyWatcher{s.client.Watcher, func(prefix string) Fault { return of(strings.TrimPrefix(prefix, s.root), nil) }}
	return &Store{client: client, root: s.root, rewind: s.rewind, login: s.login, permission: s.permission, defragment: s.defragment}
}

type faultyKV struct {
	clientv3.KV
	of func(key, value []byte) Fault
}

// Get implements clientv3.KV.
func (f faultyKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if f.of([]byte(key), nil) != None {
		return nil, rpctypes.ErrNoLeader
	}
	return f.KV.Get(ctx, key, opts...)
}

// Txn implements clientv3.KV.
func (f faultyKV) Txn(ctx context.Context) clientv3.Txn { return &faultyTxn{kv: f, txn: f.KV.Txn(ctx)} }

type faultyTxn struct {
	kv   faultyKV
	txn  clientv3.Txn
	then []clientv3.Op
}

// If implements clientv3.Txn.
func (f *faultyTxn) If(conditions ...clientv3.Cmp) clientv3.Txn {
	f.txn = f.txn.If(conditions...)
	return f
}

// Then implements clientv3.Txn.
func (f *faultyTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	f.txn, f.then = f.txn.Then(ops...), ops
	return f
}

// Else implements clientv3.Txn.
func (f *faultyTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	f.txn = f.txn.Else(ops...)
	return f
}

// Commit implements clientv3.Txn.
func (f *faultyTxn) Commit() (*clientv3.TxnResponse, error) {
	fault := None
	for _, op := range f.then {
		if op.IsPut() {
			fault = max(fault, f.kv.of(op.KeyBytes(), op.ValueBytes()))
		}
	}
	if fault == Refused {
		return nil, rpctypes.ErrNoLeader
	}
	r, err := f.txn.Commit()
	if err == nil && r.Succeeded && fault == AnswerLost {
		return nil, context.DeadlineExceeded
	}
	return r, err
}

type faultyWatcher struct {
	clientv3.Watcher
	of func(prefix string) Fault
}

// Watch implements clientv3.Watcher.
func (f faultyWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	ctx, stop := context.WithCancel(ctx)
	in, out := f.Watcher.Watch(ctx, key, opts...), make(chan clientv3.WatchResponse)
	go func() {
		defer stop()
		defer close(out)
		for r := range in {
			broken := f.of(key) != None
			if broken {
				r = clientv3.WatchResponse{Canceled: true, CompactRevision: 1}
			}
			select {
			case out <- r:
			case <-ctx.Done():
				return
			}
			if broken {
				return
			}
		}
	}()
	return out
}

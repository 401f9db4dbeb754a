package state

import (
	"context"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Fault is what goes wrong with one request to etcd.
type Fault int

// The faults.
const (
	// None: etcd answers.
	None Fault = iota
	// Refused: etcd has no leader, says so, and does nothing.
	Refused
	// AnswerLost: etcd writes, and its answer does not come. A read is Refused.
	AnswerLost
)

// WithFaults is the same store for tests of its users, with faults: of is asked before each read with the key or the
// prefix, and before each write of a key with its value. Leases work all the time.
func (s *Store) WithFaults(of func(key string, value []byte) Fault) *Store {
	client := clientv3.NewCtxClient(context.Background())
	client.KV = faultyKV{s.client.KV, func(key, value []byte) Fault { return of(strings.TrimPrefix(string(key), s.root), value) }}
	client.Lease, client.Watcher, client.Maintenance = s.client.Lease, s.client.Watcher, s.client.Maintenance
	return &Store{client: client, root: s.root}
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

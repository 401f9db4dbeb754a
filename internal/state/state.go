// Package state keeps what must be exact (alpha pairs, change sets, locks) in
// etcd: transactions, watches and nothing else.
//
// In: protobuf messages under keys such as /millrace/changes/<id>.
// Out: the same, with the revision that a compare-and-set needs.
// Next: services/alpha, services/push.
package state

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Sentinels that callers branch on.
var (
	ErrNotFound = errors.New("not found")
	// ErrConflict means somebody else wrote the key since it was read.
	ErrConflict = errors.New("changed by somebody else since it was read")
)

// Prefix is the root of every key Millrace writes.
const Prefix = "/millrace/"

// Store is typed access to etcd. Keys are given without Prefix.
type Store struct{ client *clientv3.Client }

// NewStore wraps a connected client.
func NewStore(client *clientv3.Client) *Store { return &Store{client: client} }

// Client gives the etcd client for leases, locks and elections.
func (s *Store) Client() *clientv3.Client { return s.client }

// Get reads key into m and returns its revision.
func (s *Store) Get(ctx context.Context, key string, m proto.Message) (int64, error) {
	r, err := s.client.Get(ctx, Prefix+key)
	if err != nil {
		return 0, fmt.Errorf("read %s from etcd: %w", key, err)
	}
	if len(r.Kvs) == 0 {
		return 0, fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	if err := proto.Unmarshal(r.Kvs[0].Value, m); err != nil {
		return 0, fmt.Errorf("decode %s: %w", key, err)
	}
	return r.Kvs[0].ModRevision, nil
}

// Put writes key if it is still at revision (0: must not exist yet) and returns the new revision.
func (s *Store) Put(ctx context.Context, key string, revision int64, m proto.Message) (int64, error) {
	raw, err := proto.Marshal(m)
	if err != nil {
		return 0, fmt.Errorf("encode %s: %w", key, err)
	}
	r, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(Prefix+key), "=", revision)).
		Then(clientv3.OpPut(Prefix+key, string(raw))).
		Commit()
	if err != nil {
		return 0, fmt.Errorf("write %s to etcd: %w", key, err)
	}
	if !r.Succeeded {
		return 0, fmt.Errorf("%s: %w", key, ErrConflict)
	}
	return r.Header.Revision, nil
}

// Op is one write of a transaction made by Apply.
type Op struct {
	Key string
	// Value is what to put; nil deletes.
	Value proto.Message
}

// Apply makes all writes or none: at most 128, which is what etcd takes by default.
func (s *Store) Apply(ctx context.Context, ops ...Op) error {
	txn := make([]clientv3.Op, 0, len(ops))
	for _, op := range ops {
		if op.Value == nil {
			txn = append(txn, clientv3.OpDelete(Prefix+op.Key))
			continue
		}
		raw, err := proto.Marshal(op.Value)
		if err != nil {
			return fmt.Errorf("encode %s: %w", op.Key, err)
		}
		txn = append(txn, clientv3.OpPut(Prefix+op.Key, string(raw)))
	}
	if _, err := s.client.Txn(ctx).Then(txn...).Commit(); err != nil {
		return fmt.Errorf("write %d keys to etcd: %w", len(ops), err)
	}
	return nil
}

// Entry is one key and its raw value.
type Entry struct {
	Key      string
	Revision int64
	Value    []byte
}

// List returns all entries below prefix in key order.
func (s *Store) List(ctx context.Context, prefix string) ([]Entry, error) {
	r, err := s.client.Get(ctx, Prefix+prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("list %s in etcd: %w", prefix, err)
	}
	out := make([]Entry, 0, len(r.Kvs))
	for _, kv := range r.Kvs {
		out = append(out, Entry{
			Key:      strings.TrimPrefix(string(kv.Key), Prefix),
			Revision: kv.ModRevision,
			Value:    kv.Value,
		})
	}
	return out, nil
}

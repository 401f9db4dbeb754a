// Package state keeps in etcd what must be exact: alpha pairs, change sets, VPN
// weights and locks. No other package imports the etcd client.
//
// In: protobuf messages under keys such as changes/<id>.
// Out: the same messages with the revision that a compare-and-set needs, and locks.
// Next: services/alpha, services/push, services/vpn.
package state

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
)

// Sentinels that callers branch on.
var (
	ErrNotFound = errors.New("not found")
	// ErrConflict means that another writer changed the key since it was read.
	ErrConflict = errors.New("changed by another writer since it was read")
)

// root is where every key Millrace writes begins.
const root = "/millrace/"

// Store is typed access to etcd. Keys are given without the root.
type Store struct {
	client *clientv3.Client
	root   string
	// rewind is nil where etcd is embedded.
	rewind *rewind
	// login is nil where etcd wants no user.
	login *login
	// permission is nil where etcd is embedded.
	permission *permission
	// defragment is the embedded etcd's, which does not take that over its own client.
	defragment func() error
	// end ends what Dial began, reach is how it reaches the members; both are nil where etcd is embedded.
	end   func()
	reach *reach
}

func newStore(client *clientv3.Client) *Store { return &Store{client: client, root: root} }

// Within is a store whose keys all lie below prefix, so that the tests of a package can share one etcd.
func (s *Store) Within(prefix string) *Store {
	return &Store{client: s.client, root: s.root + prefix, rewind: s.rewind, login: s.login, permission: s.permission, defragment: s.defragment}
}

// Close disconnects a store that Dial connected.
func (s *Store) Close() error {
	if s.end != nil {
		s.end()
	}
	return s.client.Close()
}

// Get reads key into m and returns its revision.
func (s *Store) Get(ctx context.Context, key string, m proto.Message) (int64, error) {
	r, err := s.client.Get(ctx, s.root+key)
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
	return s.put(ctx, key, revision, m)
}

// put writes key if it is still at revision and the conditions hold.
func (s *Store) put(ctx context.Context, key string, revision int64, m proto.Message, also ...clientv3.Cmp) (int64, error) {
	if err := allowed(key, revision, m); err != nil {
		return 0, err
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		return 0, fmt.Errorf("encode %s: %w", key, err)
	}
	r, err := s.client.Txn(ctx).
		If(append(also, clientv3.Compare(clientv3.ModRevision(s.root+key), "=", revision))...).
		Then(clientv3.OpPut(s.root+key, string(raw))).
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
	txn, err := s.writes(ops, nil)
	if err != nil {
		return err
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
func (s *Store) List(ctx context.Context, prefix string) ([]Entry, error) { return s.list(ctx, prefix) }

func (s *Store) list(ctx context.Context, prefix string, opts ...clientv3.OpOption) ([]Entry, error) {
	r, err := s.client.Get(ctx, s.root+prefix, append(opts, clientv3.WithPrefix())...)
	if err != nil {
		return nil, fmt.Errorf("list %s in etcd: %w", prefix, err)
	}
	out := make([]Entry, 0, len(r.Kvs))
	for _, kv := range r.Kvs {
		out = append(out, s.entry(kv))
	}
	return out, nil
}

// Span is a part of the keys, in their order.
type Span struct {
	// First is the first key, End the one behind the last.
	First, End string
	// Limit is how many entries are read at most; 0: all.
	Limit int64
	// Descending reads the last ones, the last one first.
	Descending bool
	// Revision as of which they are read; 0: now.
	Revision int64
}

// Read returns the entries of a span, and the revision as of which they are.
func (s *Store) Read(ctx context.Context, part Span) ([]Entry, int64, error) {
	order := clientv3.SortAscend
	if part.Descending {
		order = clientv3.SortDescend
	}
	r, err := s.client.Get(ctx, s.root+part.First, clientv3.WithRange(s.root+part.End), clientv3.WithLimit(part.Limit), clientv3.WithRev(part.Revision),
		clientv3.WithSort(clientv3.SortByKey, order))
	if err != nil {
		return nil, 0, fmt.Errorf("read %s in etcd: %w", part.First, err)
	}
	if part.Revision == 0 {
		part.Revision = r.Header.Revision
	}
	out := make([]Entry, 0, len(r.Kvs))
	for _, kv := range r.Kvs {
		out = append(out, s.entry(kv))
	}
	return out, part.Revision, nil
}

// Keys is List without values.
func (s *Store) Keys(ctx context.Context, prefix string) ([]Entry, error) {
	return s.list(ctx, prefix, clientv3.WithKeysOnly())
}

// Last returns the entry below prefix whose key sorts last, or ErrNotFound.
func (s *Store) Last(ctx context.Context, prefix string) (Entry, error) {
	r, err := s.client.Get(ctx, s.root+prefix, clientv3.WithLastKey()...)
	if err != nil {
		return Entry{}, fmt.Errorf("read the last key of %s in etcd: %w", prefix, err)
	}
	if len(r.Kvs) == 0 {
		return Entry{}, fmt.Errorf("%s: %w", prefix, ErrNotFound)
	}
	return s.entry(r.Kvs[0]), nil
}

// DeleteBelow deletes every key below prefix while the key guard is at the revision, and returns ErrConflict else.
func (s *Store) DeleteBelow(ctx context.Context, prefix, guard string, revision int64) error {
	r, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(s.root+guard), "=", revision)).
		Then(clientv3.OpDelete(s.root+prefix, clientv3.WithPrefix())).
		Commit()
	if err != nil {
		return fmt.Errorf("delete %s in etcd: %w", prefix, err)
	}
	if !r.Succeeded {
		return fmt.Errorf("%s: %w", guard, ErrConflict)
	}
	return nil
}

func (s *Store) entry(kv *mvccpb.KeyValue) Entry {
	return Entry{Key: strings.TrimPrefix(string(kv.Key), s.root), Revision: kv.ModRevision, Value: kv.Value}
}

package state

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
)

// Guard is a condition of a transaction made by Commit.
type Guard struct {
	Key string
	// Revision that the key must be at; 0: it must not exist.
	Revision int64
}

// ConflictError is the ErrConflict of Commit, with the value that etcd has instead.
type ConflictError struct {
	// Key is the first guard that did not hold, Revision where it is, 0 if it does not exist.
	Key      string
	Revision int64
}

func (e *ConflictError) Error() string { return fmt.Sprintf("%s: %s", e.Key, ErrConflict) }

// Unwrap makes it an ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// Commit makes all writes while every guard holds, and none otherwise: then it returns a ConflictError. It returns the
// revision at which all of them are written. With any other error it is unknown whether they are.
func (s *Store) Commit(ctx context.Context, guards []Guard, ops ...Op) (int64, error) {
	then, err := s.writes(ops, guards)
	if err != nil {
		return 0, err
	}
	var conditions []clientv3.Cmp
	var otherwise []clientv3.Op
	for _, g := range guards {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(s.root+g.Key), "=", g.Revision))
		otherwise = append(otherwise, clientv3.OpGet(s.root+g.Key, clientv3.WithKeysOnly()))
	}
	r, err := s.client.Txn(ctx).If(conditions...).Then(then...).Else(otherwise...).Commit()
	if err != nil {
		return 0, fmt.Errorf("write %d keys to etcd: %w", len(ops), err)
	}
	if r.Succeeded {
		return r.Header.Revision, nil
	}
	for i, g := range guards {
		at := int64(0)
		if kvs := r.Responses[i].GetResponseRange().Kvs; len(kvs) > 0 {
			at = kvs[0].ModRevision
		}
		if at != g.Revision {
			return 0, &ConflictError{Key: g.Key, Revision: at}
		}
	}
	return 0, fmt.Errorf("write %d keys to etcd: refused although every guard holds", len(ops))
}

func (s *Store) writes(ops []Op, guards []Guard) ([]clientv3.Op, error) {
	out := make([]clientv3.Op, 0, len(ops))
	for _, op := range ops {
		if op.Value == nil {
			out = append(out, clientv3.OpDelete(s.root+op.Key))
			continue
		}
		if err := allowed(op.Key, revisionOf(op.Key, guards), op.Value); err != nil {
			return nil, err
		}
		raw, err := proto.Marshal(op.Value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", op.Key, err)
		}
		out = append(out, clientv3.OpPut(s.root+op.Key, string(raw)))
	}
	return out, nil
}

// revisionOf is the one that the guards say of a key. Without guards a write depends on nothing; with others, such as
// the head of a list, they say that the key is new.
func revisionOf(key string, guards []Guard) int64 {
	if len(guards) == 0 {
		return anyRevision
	}
	for _, g := range guards {
		if g.Key == key {
			return g.Revision
		}
	}
	return 0
}

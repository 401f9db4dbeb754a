package state

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// keyRestoring is there while a restore is under way, and after one that was cut off.
const keyRestoring = "restoring"

// ErrHalfRestored means that a restore into the store was cut off.
var ErrHalfRestored = errors.New("etcd holds a part of a backup only, because a restore was interrupted; run `millrace restore --force` again")

// Sizes of requests. Of a write etcd takes 128 operations and 1.5 MiB; a read has pieces of plans of 1 MiB each.
const (
	keysPerRead    = 16
	keysPerWrite   = 100
	octetsPerWrite = 1 << 20
)

// Export calls each with every key, all as of one revision, in key order. Keys of leases, which are locks, belong to
// processes of now and are left out.
func (s *Store) Export(ctx context.Context, each func(Entry) error) (revision int64, err error) {
	end := clientv3.GetPrefixRangeEnd(s.root)
	for from := s.root; ; {
		r, err := s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(keysPerRead), clientv3.WithRev(revision), clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
		if errors.Is(err, rpctypes.ErrCompacted) {
			return 0, fmt.Errorf("read etcd at revision %d: it took so long that etcd has forgotten it; try again: %w", revision, err)
		}
		if err != nil {
			return 0, fmt.Errorf("read etcd: %w", err)
		}
		if revision == 0 {
			revision = r.Header.Revision
		}
		for _, kv := range r.Kvs {
			if err := s.export(kv, each); err != nil {
				return 0, err
			}
			from = string(kv.Key) + "\x00"
		}
		if !r.More {
			return revision, nil
		}
	}
}

func (s *Store) export(kv *mvccpb.KeyValue, each func(Entry) error) error {
	if e := s.entry(kv); kv.Lease == 0 && e.Key != keyRestoring {
		return each(e)
	}
	return nil
}

// Import writes entries as they are, in as many transactions as they need.
func (s *Store) Import(ctx context.Context, entries []Entry) error {
	var ops []clientv3.Op
	octets := 0
	flush := func() error {
		if len(ops) == 0 {
			return nil
		}
		if _, err := s.client.Txn(ctx).Then(ops...).Commit(); err != nil {
			return fmt.Errorf("write %d keys to etcd: %w", len(ops), err)
		}
		ops, octets = nil, 0
		return nil
	}
	for _, e := range entries {
		size := len(e.Key) + len(e.Value)
		if len(ops) == keysPerWrite || octets+size > octetsPerWrite {
			if err := flush(); err != nil {
				return err
			}
		}
		ops = append(ops, clientv3.OpPut(s.root+e.Key, string(e.Value)))
		octets += size
	}
	return flush()
}

// Count is how many keys there are, without the mark of a restore.
func (s *Store) Count(ctx context.Context) (int64, error) {
	r, err := s.client.Get(ctx, s.root, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("count keys in etcd: %w", err)
	}
	marked, err := s.marked(ctx)
	if marked {
		return r.Count - 1, err
	}
	return r.Count, err
}

// Whole is nil unless a restore into the store was cut off.
func (s *Store) Whole(ctx context.Context) error {
	marked, err := s.marked(ctx)
	if marked {
		return ErrHalfRestored
	}
	return err
}

func (s *Store) marked(ctx context.Context) (bool, error) {
	r, err := s.client.Get(ctx, s.root+keyRestoring, clientv3.WithCountOnly())
	if err != nil {
		return false, fmt.Errorf("look for an interrupted restore in etcd: %w", err)
	}
	return r.Count > 0, nil
}

// BeginRestore marks the store until EndRestore.
func (s *Store) BeginRestore(ctx context.Context) error {
	if _, err := s.client.Put(ctx, s.root+keyRestoring, "of "+strings.Trim(s.root, "/")); err != nil {
		return fmt.Errorf("begin to restore etcd: %w", err)
	}
	return nil
}

// Clear deletes every key but the mark.
func (s *Store) Clear(ctx context.Context) error {
	mark := s.root + keyRestoring
	_, err := s.client.Txn(ctx).Then(
		clientv3.OpDelete(s.root, clientv3.WithRange(mark)),
		clientv3.OpDelete(mark+"\x00", clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.root))),
	).Commit()
	if err != nil {
		return fmt.Errorf("delete all keys in etcd: %w", err)
	}
	return nil
}

// EndRestore takes the mark off.
func (s *Store) EndRestore(ctx context.Context) error {
	if _, err := s.client.Delete(ctx, s.root+keyRestoring); err != nil {
		return fmt.Errorf("end the restore of etcd: %w", err)
	}
	return nil
}

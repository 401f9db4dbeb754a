package state

import (
	"context"
	"errors"
	"fmt"
	"iter"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// page is how many entries one request reads: an answer has to fit into one message of gRPC.
const page = 1000

// Snapshot returns all entries below prefix in key order as they were at one revision, from which Watch goes on.
func (s *Store) Snapshot(ctx context.Context, prefix string) (entries []Entry, revision int64, err error) {
	from, end := s.root+prefix, clientv3.GetPrefixRangeEnd(s.root+prefix)
	for {
		r, err := s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(page), clientv3.WithRev(revision))
		if err != nil {
			return nil, 0, fmt.Errorf("list %s in etcd: %w", prefix, err)
		}
		if revision == 0 {
			revision = r.Header.Revision
		}
		for _, kv := range r.Kvs {
			entries = append(entries, s.entry(kv))
		}
		if !r.More {
			return entries, revision, nil
		}
		from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}

// Change is what was written to a key, or that it was deleted.
type Change struct {
	Entry
	Deleted bool
}

// Batch is the changes below a prefix of one or more whole transactions, in their order.
type Batch struct {
	Changes []Change
	// Revision is that of the last of them.
	Revision int64
}

// errRewound ends a watch: the older data's revisions are not those that it waits for.
var errRewound = errors.New("etcd came back with older data")

// Watch yields what is written below prefix after a revision, until ctx ends or the watch fails. The last
// error is the reason, and the watcher begins again with a Snapshot.
func (s *Store) Watch(ctx context.Context, prefix string, after int64) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		watching, stop := context.WithCancel(s.login.stream(clientv3.WithRequireLeader(ctx)))
		defer stop()
		_, rewound := s.Rewound()
		go func() {
			select {
			case <-rewound:
				stop()
			case <-watching.Done():
			}
		}()
		for r := range s.client.Watch(watching, s.root+prefix, clientv3.WithPrefix(), clientv3.WithRev(after+1)) {
			if err := r.Err(); err != nil && watching.Err() == nil {
				yield(Batch{}, fmt.Errorf("watch %s in etcd: %w", prefix, err))
				return
			}
			if len(r.Events) > 0 && !yield(s.batch(r), nil) {
				return
			}
		}
		select {
		case <-rewound:
			yield(Batch{}, fmt.Errorf("watch %s in etcd: %w", prefix, errRewound))
		default:
		}
	}
}

// batch is safe to take as whole transactions: without WithFragment, etcd does not split one over answers.
func (s *Store) batch(r clientv3.WatchResponse) Batch {
	var out Batch
	for _, e := range r.Events {
		out.Changes = append(out.Changes, Change{Entry: s.entry(e.Kv), Deleted: e.Type == clientv3.EventTypeDelete})
		out.Revision = max(out.Revision, e.Kv.ModRevision)
	}
	return out
}

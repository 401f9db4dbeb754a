package state

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/millrace/millrace/internal/events"
)

// The keys of this package's tests are of no kind.
func init() { anyKind = true }

// Compact forgets all revisions but the newest.
func (s *Store) Compact(ctx context.Context) error {
	r, err := s.client.Get(ctx, "none")
	if err != nil {
		return err
	}
	_, err = s.client.Compact(ctx, r.Header.Revision)
	return err
}

// Kill ends an embedded etcd as its own failure would.
func Kill(e *Embedded) { e.etcd.Server.Stop() }

// NewClusterKeeper looks when a test says so, with its own limit and clock.
func NewClusterKeeper(store *Store, leastWaste int64, now func() time.Time, p *events.Publisher, log *slog.Logger, r prometheus.Registerer) *Keeper {
	k := NewKeeper(store, nil, p, log, r)
	k.leastWaste, k.now = leastWaste, now
	return k
}

// Look is one look of many.
func (k *Keeper) Look(ctx context.Context) error { return k.look(ctx) }

// Reaches is how many members did not answer last, and how many were left.
func (s *Store) Reaches() (silent, left int) {
	s.reach.mu.Lock()
	defer s.reach.mu.Unlock()
	for member, is := range s.reach.silent {
		if is {
			silent++
		}
		if s.reach.left[member] {
			left++
		}
	}
	return silent, left
}

// Leaves is whether connections to a member end.
func Leaves(silent map[string]bool, member string) bool { return leaves(silent, member) }

// ReadAt reads as of a revision, which fails once it is forgotten.
func (s *Store) ReadAt(ctx context.Context, revision int64) error {
	_, err := s.client.Get(ctx, "none", clientv3.WithRev(revision))
	return err
}

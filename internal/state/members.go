package state

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/lifecycle"
)

const (
	// memberLease is how long after the end of a replica the others know.
	memberLease = 5 * time.Second
	// memberPause is before another try, where etcd does not answer or still has this replica's name of before.
	memberPause = time.Second
	// AloneAfter is how long a replica that starts waits for etcd, before it takes itself for the only one.
	AloneAfter = 5 * time.Second
)

// Members lists this replica under a prefix, and tells it the names of all that live, in order, at each change, until
// ctx ends. Where etcd stops to answer the last list stays: work is then done twice rather than not at all. changed is
// not called twice at a time.
func (s *Store) Members(ctx context.Context, prefix, name string, changed func(names []string)) {
	known := false
	tell := func(names []string) { known = true; changed(names) }
	begun := time.Now()
	for ctx.Err() == nil {
		s.member(ctx, prefix, name, tell)
		if !known && ctx.Err() == nil && time.Since(begun) >= AloneAfter {
			tell([]string{name})
		}
		lifecycle.Pause(ctx, memberPause)
	}
}

// member lasts as long as the lease and the watch do.
func (s *Store) member(ctx context.Context, prefix, name string, changed func([]string)) {
	life, end := context.WithCancel(ctx)
	defer end()
	late := time.AfterFunc(leaderPatience, end)
	lock, err := s.Lock(life, name, memberLease, prefix+name)
	if err != nil {
		return
	}
	defer lock.Release()
	listed, stop := lock.Context(life)
	defer stop()
	entries, revision, err := s.Snapshot(listed, prefix)
	if err != nil || !late.Stop() {
		return
	}
	live := map[string]bool{}
	for _, e := range entries {
		live[strings.TrimPrefix(e.Key, prefix)] = true
	}
	changed(slices.Sorted(maps.Keys(live)))
	for batch, err := range s.Watch(listed, prefix, revision) {
		if err != nil {
			return
		}
		for _, c := range batch.Changes {
			if who := strings.TrimPrefix(c.Key, prefix); c.Deleted {
				delete(live, who)
			} else {
				live[who] = true
			}
		}
		if !live[name] { // the next try lists this replica again
			return
		}
		changed(slices.Sorted(maps.Keys(live)))
	}
}

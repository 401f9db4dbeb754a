package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
)

// Keeper checks how full etcd is, warns before etcd accepts no more writes, lets etcd forget old revisions, and gives
// free pages back to the disk.
type Keeper struct {
	store *Store
	// defragment is the embedded one's; nil for a cluster.
	defragment func() error
	// revision is the one that a cluster had at a time: when that is long ago, it may forget what was before.
	revision   int64
	revisionAt time.Time
	// compacted: a cluster forgot revisions, and was not looked at for free pages since.
	compacted bool
	// forbidden: etcd's user may not do what only root may, and that was logged.
	forbidden bool
	now       func() time.Time
	// leastWaste is how many octets must be free before they are given back.
	leastWaste int64
	events     *events.Publisher
	log        *slog.Logger
	octets     *prometheus.GaugeVec
	loops      lifecycle.Loops
	told       bool
}

// NewKeeper is inert. The embedded etcd forgets old revisions by itself, and has a defragment; without one it is a
// cluster, of which nobody else may take care.
func NewKeeper(store *Store, defragment func() error, p *events.Publisher, log *slog.Logger, r prometheus.Registerer) *Keeper {
	return &Keeper{store: store, defragment: defragment, leastWaste: leastWaste, now: time.Now, events: p, log: log, octets: promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{
		Name: "millrace_internal_state_etcd_bytes",
		Help: "Size of etcd's database: file, in-use, and the quota at which it takes no more writes; of a cluster, its fullest member.",
	}, []string{"what"})}
}

// lookEvery is how often the size is looked at: change sets fill it in days, not in seconds.
const lookEvery = time.Minute

// Start checks now and then every minute, and reports when etcd answers with older data.
func (k *Keeper) Start(ctx context.Context) error {
	k.loops.Start(ctx)
	k.loops.Go(k.watchRewinds)
	k.loops.Every(lookEvery, func(ctx context.Context) {
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			k.log.Warn("size of etcd not known", "error", err)
		}
	})
	return nil
}

// Stop implements lifecycle.Component.
func (k *Keeper) Stop(ctx context.Context) error { return k.loops.Stop(ctx) }

// watchRewinds reports each time that etcd answered with older data.
func (k *Keeper) watchRewinds(ctx context.Context) {
	for told, next := k.store.Rewound(); ; {
		select {
		case <-ctx.Done():
			return
		case <-next:
		}
		var times uint64
		if times, next = k.store.Rewound(); times > told {
			told = times
			k.events.Publish(ctx, events.StateRewound, "etcd", "etcd answers with older data than it had, or with another cluster's; what was recorded since is unknown.")
		}
	}
}

// look compacts a cluster whether its size is known or not.
func (k *Keeper) look(ctx context.Context) error {
	var compacted error
	if k.defragment == nil {
		compacted = k.compact(ctx)
	}
	size, err := k.store.Size(ctx)
	if err != nil {
		return errors.Join(compacted, err)
	}
	return errors.Join(compacted, k.weigh(ctx, size))
}

// weigh reports how full etcd is, and gives free pages back.
func (k *Keeper) weigh(ctx context.Context, size Size) error {
	for what, octets := range map[string]int64{"file": size.File, "in-use": size.InUse, "quota": size.Quota} {
		k.octets.WithLabelValues(what).Set(float64(octets))
	}
	tell, defragment := judge(size, k.told, k.leastWaste)
	switch {
	case tell && !k.told:
		k.events.Publish(ctx, events.StateFull, "etcd", fmt.Sprintf("etcd's file has %d of %d MB; at its quota it takes no more writes.", size.File>>20, size.Quota>>20))
	case tell:
		k.events.Publish(ctx, events.StateRoom, "etcd", fmt.Sprintf("etcd's file has %d of %d MB.", size.File>>20, size.Quota>>20))
	}
	if tell {
		k.told = !k.told
	}
	if size.Room() >= roomAgain {
		if err := k.store.endFull(ctx); err != nil {
			return err
		}
	}
	if k.defragment == nil {
		return k.defragmentCluster(ctx, size)
	}
	if defragment {
		return k.defragment()
	}
	return nil
}

// keptRevisions is how long old revisions of a cluster are kept, as those of the embedded etcd are: a watch that was
// cut off goes on from where it was.
const keptRevisions = time.Hour

// compact lets a cluster forget revisions that are older than keptRevisions. All control planes do so: to forget what
// is forgotten does nothing.
func (k *Keeper) compact(ctx context.Context) error {
	now := k.now()
	if !k.revisionAt.IsZero() && now.Sub(k.revisionAt) < keptRevisions {
		return nil
	}
	r, err := k.store.client.Get(ctx, k.store.root, clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("read etcd's revision: %w", err)
	}
	old := k.revision
	k.revision, k.revisionAt = r.Header.Revision, now
	if old == 0 || old > k.revision { // an etcd that came back with older data
		return nil
	}
	_, err = k.store.client.Compact(ctx, old, clientv3.WithCompactPhysical())
	if errors.Is(err, rpctypes.ErrPermissionDenied) {
		k.leave()
		return nil
	}
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("let etcd forget old revisions: %w", err)
	}
	k.compacted = true
	return nil
}

// leave says once that compaction is left to etcd's operator: only root may, and Millrace's user need not be root.
func (k *Keeper) leave() {
	if !k.forbidden {
		k.log.Warn("etcd's user may not compact and defragment; its operator has to, such as by --auto-compaction-retention")
	}
	k.forbidden = true
}

const (
	keyDefragment = "locks/defragment"
	// defragmentTTL is how long another process waits after one died that was at it.
	defragmentTTL = time.Minute
)

// defragmentCluster gives free pages of a cluster's members back, one after the other, where it would take no more
// writes soon. A member answers nobody meanwhile, so otherwise it is left to the operator.
func (k *Keeper) defragmentCluster(ctx context.Context, size Size) error {
	_, needed := judge(size, true, k.leastWaste)
	if k.forbidden || size.Room() >= roomAgain || !needed && !k.compacted {
		return nil
	}
	held, err := k.store.Lock(ctx, "keeper", defragmentTTL, keyDefragment)
	var holder *HeldError
	switch {
	case errors.As(err, &holder): // another control plane is at it
		return nil
	case err == nil:
		defer held.Release()
	case errors.Is(err, ErrFull):
		// It takes no lock, and nothing else. Pages that a compaction freed count as free after the next write only,
		// which never comes.
		needed = true
	default:
		return err
	}
	k.compacted = false
	if !needed {
		return nil
	}
	k.log.Info("the members of etcd are defragmented, one after the other", "file", size.File, "in-use", size.InUse)
	err = k.store.defragmentAll(ctx)
	if errors.Is(err, rpctypes.ErrPermissionDenied) {
		k.leave()
		return nil
	}
	return err
}

// The limits are shares of the quota. Below roomAgain it is reported that there is room again.
const (
	fullRoom  = 0.2
	roomAgain = 0.3
	// leastWaste: giving free pages back stops all requests for some milliseconds per megabyte in use.
	leastWaste = 64 << 20
)

// judge decides what to report, given the last report, and whether to defragment: where half the file is free pages,
// or a tenth of one that is full.
func judge(s Size, told bool, least int64) (tell, defragment bool) {
	limit := fullRoom
	if told {
		limit = roomAgain
	}
	full, waste := s.Room() < limit, s.File-s.InUse
	return full != told, waste >= least && (waste > s.File/2 || full && waste > s.File/10)
}

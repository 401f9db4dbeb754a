package state

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
)

// Keeper checks how full etcd is, warns before etcd accepts no more writes, and gives the embedded one's free pages
// back to the disk.
type Keeper struct {
	store *Store
	// defragment is the embedded one's.
	defragment func() error
	// leastWaste is how many octets must be free before they are given back.
	leastWaste int64
	events     *events.Publisher
	log        *slog.Logger
	octets     *prometheus.GaugeVec
	loops      lifecycle.Loops
	told       bool
}

// NewKeeper is inert. Without defragment the operator of the cluster does it, one member after the other.
func NewKeeper(store *Store, defragment func() error, p *events.Publisher, log *slog.Logger, r prometheus.Registerer) *Keeper {
	return &Keeper{store: store, defragment: defragment, leastWaste: leastWaste, events: p, log: log, octets: promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{
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

func (k *Keeper) look(ctx context.Context) error {
	size, err := k.store.Size(ctx)
	if err != nil {
		return err
	}
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
	if defragment && k.defragment != nil {
		return k.defragment()
	}
	return nil
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

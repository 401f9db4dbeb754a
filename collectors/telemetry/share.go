package telemetry

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/partition"
	"github.com/millrace/millrace/internal/state"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
)

const (
	// MembersPrefix lists the replicas that live, devicesPrefix how each router is read, for all replicas to tell.
	MembersPrefix = "telemetry/members/"
	devicesPrefix = "telemetry/devices/"
	// recordTimeout bounds what etcd may take: it does not hold up a stream for longer.
	recordTimeout = 2 * time.Second
	// recordPause is how long it is left alone after it did not take a record: each sample would wait for it otherwise.
	recordPause = 30 * time.Second
)

// share is the part of the routers that this replica reads.
type share struct {
	mu sync.Mutex
	// owners are the replicas by router; stop ends those that this one reads.
	owners map[string]string
	stop   map[string]context.CancelFunc
}

// forget is for a start: nothing is read yet.
func (s *share) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners, s.stop = map[string]string{}, map[string]context.CancelFunc{}
}

// assign begins and ends streams, so that each router is read by the replica whose it is among those that live.
func (c *Component) assign(replicas []string) {
	c.share.mu.Lock()
	defer c.share.mu.Unlock()
	for _, w := range c.watchers {
		name := w.device.Name
		owner := partition.Owner(replicas, name)
		c.share.owners[name] = owner
		stop, reads := c.share.stop[name]
		switch {
		case owner == c.name && !reads:
			ctx, cancel := context.WithCancel(c.loops.Context())
			c.share.stop[name] = cancel
			c.loops.Go(func(context.Context) { w.run(ctx) })
		case owner != c.name && reads:
			stop()
			delete(c.share.stop, name)
		}
	}
	c.metrics.own.Set(float64(len(c.share.stop)))
}

// owner is the replica that reads a router, as far as this one knows; empty before it knows any.
func (c *Component) owner(router string) string {
	c.share.mu.Lock()
	defer c.share.mu.Unlock()
	return c.share.owners[router]
}

// leave forgets a router that another replica reads from now on.
func (w *watcher) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = link{}
	w.c.metrics.connected.DeleteLabelValues(w.device.Name)
}

// record writes for the other replicas how a router is read here. What etcd did not take is written again at a
// sample after a pause.
func (w *watcher) record(ctx context.Context) {
	if w.c.deps.State == nil {
		return
	}
	d := w.report()
	d.ReadBy = w.c.name
	request, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	err := w.c.deps.State.Apply(request, state.Op{Key: devicesPrefix + w.device.Name, Value: d})
	w.mu.Lock()
	if w.unrecorded = (time.Time{}); err != nil {
		w.unrecorded = time.Now()
	}
	w.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		w.c.deps.Log.WarnContext(ctx, "other replicas do not know how a router is read", "device", w.device.Name, "error", err)
	}
}

// due reports whether to record again what etcd did not take.
func (w *watcher) due() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.unrecorded.IsZero() && time.Since(w.unrecorded) >= w.c.pause
}

// elsewhere is how the routers are read that other replicas have; what etcd does not answer is missing.
func (c *Component) elsewhere(ctx context.Context) map[string]*telemetryv1.Device {
	out := map[string]*telemetryv1.Device{}
	if c.deps.State == nil {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	entries, err := c.deps.State.List(ctx, devicesPrefix)
	if err != nil {
		c.deps.Log.WarnContext(ctx, "not known how other replicas read their routers", "error", err)
		return out
	}
	for _, e := range entries {
		d := &telemetryv1.Device{}
		if proto.Unmarshal(e.Value, d) == nil {
			out[strings.TrimPrefix(e.Key, devicesPrefix)] = d
		}
	}
	return out
}

// reportOf is this replica's own report of a router that it reads, and else what the one has recorded that does.
func (c *Component) reportOf(w *watcher, elsewhere map[string]*telemetryv1.Device) *telemetryv1.Device {
	owner := c.owner(w.device.Name)
	if owner == c.name {
		d := w.report()
		if c.deps.State != nil {
			d.ReadBy = c.name
		}
		return d
	}
	d := &telemetryv1.Device{Name: w.device.Name, Address: w.device.Address, ReadBy: owner}
	switch last := elsewhere[w.device.Name]; {
	case owner == "":
		d.Error = "not connected yet"
	case last.GetReadBy() != owner:
		d.Error = "replica " + owner + " has not reported yet how it reads it"
	default:
		d.Connected, d.Error, d.LastUpdate = last.GetConnected(), last.GetError(), last.GetLastUpdate()
	}
	return d
}

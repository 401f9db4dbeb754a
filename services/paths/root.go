// Package paths holds the current topology and computes paths over it.
//
// In: topology snapshots from the bus (collectors/topology), requests for paths.
// Out: ECMP sets, explicit paths with their segment lists, the routers that
// originate a prefix. Next: services/policy, which maps alpha pairs to these paths.
//
// The pure package compute finds the paths; this package keeps the graph and
// translates from and to protobuf. A segment list is made of loopbacks here;
// services/routeragent/frr resolves each to the router's label.
package paths

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
	"github.com/millrace/millrace/services/paths/compute"
)

// Dependencies of the path service.
type Dependencies struct {
	Bus        bus.Bus
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Component serves PathsService.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	loops   lifecycle.Loops

	// mu guards areas; graph and merged are replaced as one in view.
	mu    sync.Mutex
	areas map[string]topo.Snapshot
	// read is when an area was last read from routers, came when its last snapshot did.
	read, came map[string]time.Time
	view       atomic.Pointer[view]
	// heard is when the last snapshot came; nil before the first.
	heard atomic.Pointer[time.Time]
}

// view is one consistent state of the network.
type view struct {
	graph  *topo.Graph
	merged topo.Snapshot
	// index is made when the first path is requested; nil where the topology does not fit into one.
	index func() *compute.Index
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Component{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer), areas: map[string]topo.Snapshot{}, read: map[string]time.Time{}, came: map[string]time.Time{},
	}
	c.view.Store(newView(nil))
	return c, nil
}

// Start begins to follow the topology. The topic is compacted, so the current
// snapshot of every area comes first.
func (c *Component) Start(ctx context.Context) error {
	c.loops.Start(ctx)
	// Every instance needs every snapshot, from the first: a group of its own, new at each start.
	group := "services/paths/" + rand.Text()
	if err := c.deps.Bus.Subscribe(c.loops.Context(), bus.TopicTopology, group, c.take); err != nil {
		return errors.Join(fmt.Errorf("subscribe to the topology: %w", err), c.loops.Stop(ctx))
	}
	return nil
}

// Stop ends the subscription.
func (c *Component) Stop(ctx context.Context) error { return c.loops.Stop(ctx) }

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return pathsv1connect.NewPathsServiceHandler(&api{c}, rpc.Bounded(rpc.MaxRequest))
}

// take replaces one area. A snapshot that cannot be read is dropped and
// counted: having it delivered again would not help.
func (c *Component) take(ctx context.Context, m bus.Message) error {
	msg := &topologyv1.TopologySnapshot{}
	err := proto.Unmarshal(m.Value, msg)
	var snapshot topo.Snapshot
	if err == nil {
		snapshot, err = topo.FromProto(msg)
	}
	if err != nil {
		c.metrics.snapshots.WithLabelValues("invalid").Inc()
		c.deps.Log.WarnContext(ctx, "topology snapshot dropped", "area", m.Key, "error", err)
		return nil
	}
	c.replace(ctx, snapshot, time.Now())
	c.metrics.read.WithLabelValues(snapshot.Area).Set(float64(snapshot.Time.UnixMilli()) / 1000)
	c.metrics.snapshots.WithLabelValues("taken").Inc()
	return nil
}

// replace makes the graph anew only if an area has changed: collectors publish it again and again.
func (c *Component) replace(ctx context.Context, s topo.Snapshot, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.areas[s.Area]
	c.areas[s.Area] = s
	gone := c.hear(ctx, last, s, known, now)
	if last.Time, last.Source = s.Time, s.Source; known && len(gone) == 0 && proto.Equal(last.ToProto(), s.ToProto()) {
		c.view.Store(c.view.Load().readAgain(c.areas))
		return
	}
	v := newView(c.areas)
	c.view.Store(v)
	c.metrics.nodes.Set(float64(len(v.graph.Nodes())))
	c.metrics.links.Set(float64(len(v.graph.Links())))
}

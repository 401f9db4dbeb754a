// Package topology reads the network from the routers' own link-state database.
//
// In: the inventory; gNMI Get of the OSPF database from one router per area and
// of interfaces from every router, in intervals and when a router tells that a
// port has changed. Out: TopologySnapshot on the bus, keyed by area, whenever
// something changed and every 20 s; events for routers and links. Next:
// services/paths, which computes on it, and services/dashboard.
package topology

import (
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/topo"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
	"github.com/millrace/millrace/proto/gen/millrace/topology/v1/topologyv1connect"
)

// KeyLeader is held by the replica that reads.
const KeyLeader = "topology/leader"

// Dependencies of the collector.
type Dependencies struct {
	Inventory *device.Inventory
	// TLS is the controller's client credentials, such as (*device.Inventory).ClientTLS.
	TLS *tls.Config
	// State is where replicas elect the one that reads; nil: this one reads.
	State      *state.Store
	Bus        bus.Bus
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Component reads on a schedule and on request.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	events  *events.Publisher
	leader  *state.Leader // nil: there is nobody else
	// reading allows one reading at a time; it guards routers, published and leads.
	reading   sync.Mutex
	routers   []*router
	published map[string]topo.Snapshot
	leads     bool
	loops     lifecycle.Loops
	turns     turns
	ports     *waker
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Component{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer), published: map[string]topo.Snapshot{},
		events: events.NewPublisher(deps.Bus, deps.Log), ports: newWaker(),
	}
	c.lead(deps)
	for _, d := range deps.Inventory.Devices {
		c.routers = append(c.routers, newRouter(c, d))
	}
	return c, nil
}

// Start begins to read; routers that are not there yet are tried until they are.
func (c *Component) Start(ctx context.Context) error {
	c.loops.Start(ctx)
	c.loops.Every(c.cfg.look(), c.turn)
	c.loops.Go(c.hurry)
	return nil
}

// Stop ends the reading under way and all connections.
func (c *Component) Stop(ctx context.Context) error {
	if err := c.loops.Stop(ctx); err != nil {
		return err
	}
	if c.leader != nil {
		c.leader.Resign()
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	for _, r := range c.routers {
		r.close()
	}
	return nil
}

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return topologyv1connect.NewTopologyCollectorServiceHandler(&api{c}, rpc.Bounded(rpc.MaxRequest))
}

// api is the Connect face of the component.
type api struct{ c *Component }

// Refresh implements TopologyCollectorService.
func (a *api) Refresh(ctx context.Context, _ *connect.Request[topologyv1.RefreshRequest]) (*connect.Response[topologyv1.RefreshResponse], error) {
	if err := a.c.read(ctx, requested); err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return connect.NewResponse(&topologyv1.RefreshResponse{Snapshot: a.c.joined().ToProto()}), nil
}

// joined is what was last published of all areas, as one.
func (c *Component) joined() topo.Snapshot {
	c.reading.Lock()
	defer c.reading.Unlock()
	areas := slices.Sorted(maps.Keys(c.published))
	if len(areas) == 1 {
		return c.published[areas[0]]
	}
	out := topo.Snapshot{Area: strings.Join(areas, ",")}
	for _, name := range areas {
		s := c.published[name]
		out.Nodes, out.Links = append(out.Nodes, s.Nodes...), append(out.Links, s.Links...)
		if s.Time.After(out.Time) {
			out.Time, out.Source = s.Time, s.Source
		}
	}
	return out
}

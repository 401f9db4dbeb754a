// Package telemetry reads counters from routers, as a stream, for as long as
// it runs.
//
// In: the inventory; gNMI Subscribe (STREAM, SAMPLE) to interface, queue and
// redirect rule counters of each device. Out: CounterBatch on the bus, keyed by
// device; which devices are connected. Next: services/flowstore, which keeps
// them, for services/dashboard and for services/push, which verifies by them.
package telemetry

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
	"github.com/millrace/millrace/proto/gen/millrace/telemetry/v1/telemetryv1connect"
)

// Dependencies of the collector.
type Dependencies struct {
	Inventory *device.Inventory
	// TLS is the controller's client credentials, such as (*device.Inventory).ClientTLS.
	TLS *tls.Config
	// State is where replicas share the routers; nil: this one reads all.
	State      *state.Store
	Bus        bus.Bus
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Component watches every device of the inventory that is its own, each by itself.
type Component struct {
	cfg      Configuration
	deps     Dependencies
	metrics  *metrics
	events   *events.Publisher
	watchers []*watcher
	loops    lifecycle.Loops
	// silence is how long a stream may bring no counters.
	silence time.Duration
	// pause is how long what etcd did not take is not recorded again.
	pause time.Duration
	// name is this replica's; share has which routers are its own.
	name  string
	share share
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Component{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer), silence: cfg.silence(), pause: recordPause, name: state.Replica(),
		events: events.NewPublisher(deps.Bus, deps.Log),
	}
	for _, d := range deps.Inventory.Devices {
		c.watchers = append(c.watchers, newWatcher(c, d))
	}
	return c, nil
}

// Start begins to connect; routers that are not there yet are tried until they are.
func (c *Component) Start(ctx context.Context) error {
	c.loops.Start(ctx)
	c.share.forget()
	if c.deps.State == nil {
		c.assign([]string{c.name})
		return nil
	}
	c.loops.Go(func(ctx context.Context) { c.deps.State.Members(ctx, MembersPrefix, c.name, c.assign) })
	return nil
}

// Stop ends all streams.
func (c *Component) Stop(ctx context.Context) error { return c.loops.Stop(ctx) }

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return telemetryv1connect.NewTelemetryCollectorServiceHandler(&api{c}, rpc.Bounded(rpc.MaxRequest))
}

// api is the Connect face of the component.
type api struct{ c *Component }

// Devices implements TelemetryCollectorService.
func (a *api) Devices(ctx context.Context, _ *connect.Request[telemetryv1.DevicesRequest]) (*connect.Response[telemetryv1.DevicesResponse], error) {
	out := &telemetryv1.DevicesResponse{}
	elsewhere := a.c.elsewhere(ctx)
	for _, w := range a.c.watchers {
		out.Devices = append(out.Devices, a.c.reportOf(w, elsewhere))
	}
	return connect.NewResponse(out), nil
}

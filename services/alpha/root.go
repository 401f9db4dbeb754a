// Package alpha finds the prefix pairs with alpha flows and remembers them (paper 002, section II).
//
// In: flow records from collectors/flow as they come; flow sums per fixed interval, last-seen times, telemetry and the
// quality of the export in each hour from services/flowstore; circuits from services/circuits, if there is one.
// Out: prefix pairs with evidence, one change set per nightly run that changed them, and for each flow that is alpha
// now an alarm, and on request a change set as well. Next: services/push, which plans the change; services/policy,
// which reads the pairs while it does.
//
// The pure packages detect, online and gate decide which flows are alpha and whose are complete; this package queries
// the flow store, takes flows from the bus, persists the pairs and publishes events.
package alpha

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// Dependencies of the alpha service.
type Dependencies struct {
	State     *state.Store
	Bus       bus.Bus
	FlowStore flowv1connect.FlowStoreServiceClient
	Changes   pushv1connect.ChangeServiceClient
	// Circuits returns the circuits whose transfers need no pair; nil means that there are none.
	Circuits circuitsv1connect.CircuitsServiceClient
	// Inventory maps exporters to routers.
	Inventory  *device.Inventory
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Component serves AlphaService and makes the nightly run.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	events  *events.Publisher
	at      *timeOfDay
	// running allows one nightly run at a time; reading pairs does not need it.
	running sync.Mutex
	// judging allows one evaluation of effectiveness at a time, so that a day is read once.
	judging sync.Mutex
	watch   *watch
	loops   lifecycle.Loops
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	at, err := parseTimeOfDay(cfg.NightlyAt)
	if err != nil {
		return nil, err
	}
	return &Component{
		cfg: cfg, deps: deps, at: at, metrics: newMetrics(deps.Registerer),
		events: events.NewPublisher(deps.Bus, deps.Log), watch: newWatch(cfg),
	}, nil
}

// Start begins to watch the clock and the flows, and to retry change sets left pending.
func (c *Component) Start(ctx context.Context) error {
	c.loops.Start(ctx)
	c.loops.Go(c.watchClock)
	if err := c.watchFlows(); err != nil {
		return errors.Join(err, c.loops.Stop(context.WithoutCancel(ctx)))
	}
	return nil
}

// Stop interrupts a run under way; nothing of it is stored then.
func (c *Component) Stop(ctx context.Context) error { return c.loops.Stop(ctx) }

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return alphav1connect.NewAlphaServiceHandler(&api{c}, rpc.Bounded(rpc.MaxRequest, c.about))
}

func (c *Component) memory() memory { return memory{c.deps.State} }

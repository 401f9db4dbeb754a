// Package push applies plans to routers. A router is changed by a change set and
// by nothing else.
//
// In: requests for change sets (services/alpha at night, people), plans of
// services/policy, routers that answer again. Out: router configuration, sent with commit confirmed,
// verified, and then confirmed on every router or rolled back on every router;
// each step is recorded in etcd. Next: services/routeragent and other gNMI
// targets.
//
// docs/explanation/life-of-a-change-set.md explains it in full.
package push

import (
	"context"
	"crypto/rand"
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
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/guard"
)

// Dependencies of the push service.
type Dependencies struct {
	Inventory *device.Inventory
	State     *state.Store
	Policy    policyv1connect.PolicyServiceClient
	// Twin predicts what a change set does where its author requests it; nil for no predictions.
	Twin twinv1connect.TwinServiceClient
	// Flows has the counters by which a canary router is watched; nil for no canary.
	Flows flowv1connect.FlowStoreServiceClient
	// Vendors are the drivers of the inventory's routers.
	Vendors    driver.Vendors
	Bus        bus.Bus
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Component serves ChangeService.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	events  *events.Publisher
	// contents are the plans of change sets.
	contents *contents
	reader   *reader

	// window is when change sets may be applied.
	window guard.Window

	// process distinguishes this process's locks from those of another one that runs the same change set.
	process string
	active  active
	stands  stands
	stamps  stamps
	// identity is the name by which routers identify this control plane.
	identity identity

	// unreadable are the revisions of records that were reported.
	unreadable sync.Map

	// now is the clock of routers' auto-rollback; tests have their own.
	now func() time.Time

	// runs end with Stop; the next Start resumes change sets that were under way.
	runs lifecycle.Loops
}

// New is inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Canary.For > 0 && deps.Flows == nil {
		return nil, errors.New("push: canary.for needs the counters of services/flowstore; host it, give its endpoint, or remove canary.for")
	}
	window, err := cfg.Window.parse()
	if err != nil {
		return nil, err
	}
	return &Component{
		window: window, cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer),
		events:   events.NewPublisher(deps.Bus, deps.Log),
		now:      time.Now,
		process:  rand.Text(),
		active:   active{runs: map[string]chan struct{}{}},
		identity: identity{seen: map[string]uint64{}},
		contents: &contents{store: deps.State, recent: map[string]*pushv1.DeviceChange{}},
		reader:   newReader(deps.Inventory),
	}, nil
}

// Start takes up the change sets that the last process left under way, and goes on looking for such.
func (c *Component) Start(ctx context.Context) error {
	c.runs.Start(ctx)
	if err := c.takeUpAll(ctx, true); err != nil {
		return err
	}
	c.runs.Every(max(c.cfg.LockTTL/2, time.Second), func(ctx context.Context) {
		if err := c.takeUpAll(ctx, false); err != nil && ctx.Err() == nil {
			c.deps.Log.Warn("no change sets taken up", "error", err)
		}
	})
	c.runs.Every(c.cfg.Keep.collectEvery(), func(ctx context.Context) {
		if _, err := c.collect(ctx); err != nil && ctx.Err() == nil {
			c.deps.Log.Warn("old plans not deleted; will try again", "error", err)
		}
	})
	return c.reconcileAll()
}

// Stop interrupts every run at once: a router with a pending commit rolls it
// back by itself, and the next Start reads what happened.
func (c *Component) Stop(ctx context.Context) error { return c.runs.Stop(ctx) }

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return pushv1connect.NewChangeServiceHandler(&api{c}, rpc.Bounded(rpc.MaxRequest, c.about))
}

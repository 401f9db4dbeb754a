// Package push brings plans onto routers: change sets are the one way in which
// anything ever reaches one.
//
// In: requests for change sets (services/alpha at night, people), plans of
// services/policy. Out: router configuration, sent with commit-confirm, verified
// and then confirmed everywhere or taken back everywhere; the whole story in
// etcd. Next: services/routeragent and other gNMI targets.
//
// docs/explanation/life-of-a-change-set.md tells the same as a story.
package push

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
	"github.com/millrace/millrace/services/push/driver"
)

// Dependencies of the push service.
type Dependencies struct {
	Inventory *device.Inventory
	Store     *state.Store
	Policy    policyv1connect.PolicyServiceClient
	// Twin predicts what a change set does where its author asks; nil: nobody predicts.
	Twin twinv1connect.TwinServiceClient
	// Routers opens connections; driver.ByOS in production.
	Routers    driver.Opener
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

	// now is the clock by which routers go back by themselves; tests have their own.
	now func() time.Time

	// run ends with Stop; whatever is under way then is resumed by the next Start.
	run  context.Context
	stop context.CancelFunc
	work sync.WaitGroup
}

// New is inert.
func New(cfg Configuration, deps Dependencies) *Component {
	return &Component{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer),
		events:   events.NewPublisher(deps.Bus, deps.Log),
		now:      time.Now,
		contents: &contents{store: deps.Store, recent: map[string]*pushv1.DeviceChange{}},
	}
}

// Start takes up what the last process left under way.
func (c *Component) Start(ctx context.Context) error {
	c.run, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	return c.resumeAll(ctx)
}

// Stop lets go of everything at once: a router with a pending commit goes back
// by itself, and the next Start finds out.
func (c *Component) Stop(context.Context) error {
	if c.stop != nil {
		c.stop()
		c.work.Wait()
	}
	return nil
}

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return pushv1connect.NewChangeServiceHandler(&api{c})
}

// background does f under the component's lifetime.
func (c *Component) background(f func(context.Context)) {
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		f(c.run)
	}()
}

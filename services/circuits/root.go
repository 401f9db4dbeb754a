// Package circuits books capacity between routers ahead of time: it holds, commits and releases circuits, says what is
// free, and why a request does not fit and what would.
//
// In: requests of people and programs (CircuitsService, REST), the topology of services/paths, what the policy of
// services/policy guarantees, change sets of services/push, alpha pairs of services/alpha. Out: the book of circuits in
// etcd, requests for change sets, events, a stream of circuits, webhooks. Next: services/push, which puts circuits on
// routers; services/dashboard, which serves this API on its port.
//
// Who decides what: services/circuits/admit whether a request fits, on which path; services/circuits/ledger that no
// two replicas book the same capacity; services/circuits/life what a circuit may do next;
// services/circuits/provision which change set it requests, and what that means for it. This package checks who
// asks, applies projects' quotas, and tells life what happened (docs/adr/0012-circuits.md). services/circuits/day
// has tests only: a simulated day of admit and life beside an oracle.
package circuits

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
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
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/rest"
	"github.com/millrace/millrace/services/circuits/webhook"
)

// Dependencies of the service.
type Dependencies struct {
	State *state.Store
	Bus   bus.Bus
	Paths pathsv1connect.PathsServiceClient
	// Changes makes the change sets that put circuits on routers; it may be nil where Configuration has no
	// Provision.Policy.
	Changes pushv1connect.ChangeServiceClient
	// Policy says what the policy of Provision.Policy guarantees circuits; it may be nil where there is none.
	Policy policyv1connect.PolicyServiceClient
	// Alpha knows of huge transfers, which are proposed as circuits; nil for none.
	Alpha alphav1connect.AlphaServiceClient
	// Inventory says which router exports flows from which address; it may be nil.
	Inventory *device.Inventory
	// Flows keeps what circuits send; nil for none.
	Flows      flowv1connect.FlowStoreServiceClient
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Component is the circuit service.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	events  *events.Publisher
	ledger  *ledger.Ledger
	// book is the ledger's mirror: it is read and changed within the ledger's calls only.
	book     *book
	loops    lifecycle.Loops
	restorer restorer
	vacator  vacator
	// grace and pace are the constants, but for tests.
	grace time.Duration
	pace  webhook.Pace
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Provision.Policy != "" && deps.Changes == nil {
		return nil, errors.New("circuits: provision.policy needs services/push; host it, give its endpoint, or remove provision.policy")
	}
	if cfg.Provision.Policy != "" && deps.Policy == nil {
		return nil, errors.New("circuits: provision.policy needs services/policy, which says what circuits are guaranteed; host it, give its endpoint, or remove provision.policy")
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	c := &Component{cfg: cfg, deps: deps, events: events.NewPublisher(deps.Bus, deps.Log), book: newBook(cfg), grace: grace, pace: webhook.DefaultPace()}
	c.ledger = ledger.New(deps.State, c.book, deps.Log)
	c.metrics = newMetrics(deps.Registerer, c)
	return c, nil
}

const (
	// tick is how often the clock is looked at.
	tick = time.Second
	// sweep is how often what is over for long is forgotten.
	sweep = time.Minute
)

// Start follows the book and the topology. Until both were read, requests are answered "unavailable".
func (c *Component) Start(ctx context.Context) error {
	if c.deps.State == nil {
		return errors.New("circuits: no etcd to keep the book in")
	}
	hooks, err := c.cfg.hooks(c.pace)
	if err != nil {
		return err
	}
	c.loops.Start(ctx)
	c.loops.Go(c.ledger.Follow)
	c.loops.Go(c.followTopology)
	c.loops.Every(tick, c.look)
	c.loops.Every(sweep, c.forget)
	for _, h := range hooks {
		c.loops.Go(c.follow(h))
	}
	if c.cfg.Provision.Policy != "" {
		c.loops.Go(c.followPolicy)
		c.loops.Go(newProvisioner(c).provision)
	}
	return nil
}

// Stop ends the following. Booked circuits stay booked.
func (c *Component) Stop(ctx context.Context) error { return c.loops.Stop(ctx) }

// maxRequest is room for the longest lists that a request may have.
const maxRequest = 1 << 20

// Handler returns path and handler of the API.
func (c *Component) Handler() (string, http.Handler) {
	path, handler := circuitsv1connect.NewCircuitsServiceHandler(&api{c}, rpc.Bounded(maxRequest, c.about))
	return path, withWriter(handler)
}

// REST returns path and handler of the same API as JSON over plain HTTP.
func (c *Component) REST() (string, http.Handler) {
	return rest.Prefix, rest.NewHandler(&api{c}, c.about)
}

// Package split follows the law of internal/split on the ports of the policy in force: it reads what their queues sent
// and dropped, decides, and requests a change set for the ports that should move, as the policy says.
//
// In: counters from services/flowstore, plans from services/policy, change sets and freezes from services/push. Out:
// change sets, events, and for each port why it moved or did not. Next: services/push, which plans the change set and
// has services/twin predict it.
//
// The package follow decides; what it decides on is read anew each time, so that a restart forgets nothing.
package split

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
	"github.com/millrace/millrace/proto/gen/millrace/split/v1/splitv1connect"
	"github.com/millrace/millrace/services/split/follow"
)

// KeyLeader is held by the replica that requests change sets; all of them decide.
const KeyLeader = "split/leader"

// Dependencies of the split service.
type Dependencies struct {
	State      *state.Store
	Bus        bus.Bus
	Policy     policyv1connect.PolicyServiceClient
	Changes    pushv1connect.ChangeServiceClient
	Flows      flowv1connect.FlowStoreServiceClient
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Component serves SplitService and follows the law.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	events  *events.Publisher
	leader  *state.Leader
	loops   lifecycle.Loops

	// deciding lets one round go on at a time; it guards what is below it.
	deciding  sync.Mutex
	followers map[follow.Port]*follower
	// policy is the one that the followers are of; idle is why it is not followed, as of asked.
	policy, idle string
	asked        time.Time

	mu     sync.Mutex
	status *splitv1.StatusResponse
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	leader := state.NewLeader(deps.State, KeyLeader, state.Replica())
	return &Component{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer, leader), events: events.NewPublisher(deps.Bus, deps.Log),
		leader: leader, followers: map[follow.Port]*follower{},
		status: &splitv1.StatusResponse{Idle: "nothing was decided yet"},
	}, nil
}

// Start begins to decide every interval.
func (c *Component) Start(ctx context.Context) error {
	c.loops.Start(ctx)
	// A round may be long after the end of the replica that leads.
	c.loops.Every(state.LeaderLook, func(ctx context.Context) { _, _ = c.leader.Leads(ctx) }) // the round says why not
	c.loops.Every(c.cfg.Interval, func(ctx context.Context) {
		if err := c.round(ctx); err != nil && ctx.Err() == nil {
			c.metrics.rounds.WithLabelValues("failed").Inc()
			c.deps.Log.WarnContext(ctx, "no split is decided about, tried again", "error", err)
			c.show(&splitv1.StatusResponse{Idle: fmt.Sprintf("what is to be decided on could not be read: %v", err)})
		}
	})
	return nil
}

// Stop ends it, and lets another replica lead at once.
func (c *Component) Stop(ctx context.Context) error {
	err := c.loops.Stop(ctx)
	c.leader.Resign()
	return err
}

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return splitv1connect.NewSplitServiceHandler(&api{c}, rpc.Bounded(rpc.MaxRequest))
}

func (c *Component) show(s *splitv1.StatusResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = s
}

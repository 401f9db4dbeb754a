// Package twin predicts what a policy or a change set does to each class of
// traffic, before any router is touched.
//
// In: scenarios, or a change set's plans and the load of the routers' ports
// (services/flowstore). Out: rate, loss and delay of each class. Next:
// services/push, whose change sets carry the prediction, and people.
//
// The simulator is pure: engine, discipline, tcp and traffic; predict builds its
// networks from scenarios and plans.
package twin

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
)

// Dependencies of the twin.
type Dependencies struct {
	// Flows has the counters that state a port's load.
	Flows      flowv1connect.FlowStoreServiceClient
	Registerer prometheus.Registerer
}

// Component serves TwinService.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	// turns has room for the predictions that run at once.
	turns chan struct{}
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("twin: %w", err)
	}
	return &Component{cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer), turns: make(chan struct{}, cfg.Parallel)}, nil
}

// Start has nothing to start: a prediction runs within its request.
func (c *Component) Start(context.Context) error { return nil }

// Stop has nothing to end: a prediction ends with its request.
func (c *Component) Stop(context.Context) error { return nil }

// maxRequest is room for the plans of some thousand routers.
const maxRequest = 16 << 20

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return twinv1connect.NewTwinServiceHandler(&api{c}, rpc.Bounded(maxRequest))
}

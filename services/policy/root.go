// Package policy compiles policies into the intended config of each router.
//
// In: policy files, pairs from services/alpha, circuits from services/circuits, topology and paths from
// services/paths. Out: one plan per router with its managed config entries.
// Next: services/push, which makes change sets of them.
//
// Package document reads files, compile makes plans, render writes them for a
// vendor: all pure. This package queries the other services and converts to
// protobuf.
package policy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
)

// Dependencies of the policy service.
type Dependencies struct {
	Inventory *device.Inventory
	// Renderers are those of the inventory's operating systems.
	Renderers Renderers
	Alpha     alphav1connect.AlphaServiceClient
	Paths     pathsv1connect.PathsServiceClient
	// Circuits is nil where there is no such service: then no circuit is in force.
	Circuits   circuitsv1connect.CircuitsServiceClient
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Component serves PolicyService.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	library *library
	now     func() time.Time

	mu sync.Mutex
	// told is what was logged last of files with errors.
	told string
}

// New is inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	for _, d := range deps.Inventory.Devices {
		if _, err := deps.Renderers.of(deps.Inventory, d.Name); err != nil {
			return nil, fmt.Errorf("policy: %w", err)
		}
	}
	c := &Component{cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer), library: newLibrary(cfg.Dir), now: time.Now}
	c.library.found = c.tell
	return c, nil
}

// tell counts what is wrong with files, and logs it once. It keeps no other file's policy from its plan, so that nobody
// would hear of it before the next start, which fails.
func (c *Component) tell(problems []error) {
	c.metrics.broken.Set(float64(len(problems)))
	c.mu.Lock()
	defer c.mu.Unlock()
	text := ""
	if err := errors.Join(problems...); err != nil {
		text = err.Error()
	}
	if text != "" && text != c.told {
		c.deps.Log.Warn("files of policies have errors, with which no start succeeds", "errors", text)
	}
	c.told = text
}

// Start reads every policy once, so that a broken file fails the start and not the nightly run.
func (c *Component) Start(context.Context) error {
	names, err := c.library.names()
	if err != nil {
		return fmt.Errorf("read policies: %w", err)
	}
	c.deps.Log.Info("policies read", "policies", names)
	return nil
}

// Stop has nothing to end.
func (c *Component) Stop(context.Context) error { return nil }

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return policyv1connect.NewPolicyServiceHandler(&api{c}, rpc.Bounded(rpc.MaxRequest))
}

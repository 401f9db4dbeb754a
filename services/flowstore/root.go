// Package flowstore keeps flow records and router counters in ClickHouse and
// serves queries over them. It is the only reader and writer of its tables.
//
// In: FlowBatch from collectors/flow, CounterBatch from collectors/telemetry and
// SampleBatch from services/vpn, over the bus. Out: sums per fixed interval (the
// first step of alpha-flow detection, paper 002 section II), last-seen times,
// rankings, counter series. Next: services/alpha and services/dashboard.
package flowstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/scitags"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// Dependencies of the flow store.
type Dependencies struct {
	Bus        bus.Bus
	Log        *slog.Logger
	Registerer prometheus.Registerer // may be nil
}

// Component is the flow store.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	// registry has the names of tags.
	registry *scitags.Registry

	open      func(context.Context, store.Configuration) (store.DB, error)
	db        atomic.Pointer[store.DB] // set while started
	flows     *committer[flowBatch]
	telemetry *committer[[]counter]
	vpn       *committer[vpnSamples]
	busy      busy
	drain     time.Duration

	loops lifecycle.Loops
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	registry, err := cfg.SciTags.registry()
	if err != nil {
		return nil, err
	}
	return &Component{cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer), registry: registry, open: store.Open, drain: drainTimeout}, nil
}

// group is the bus consumer group of every replica of this service.
const group = "flowstore"

// Start opens the database, migrates it and subscribes to the bus.
func (c *Component) Start(ctx context.Context) error {
	cfg := c.cfg.Store
	cfg.Failed = func(table string) { c.metrics.insertErrors.WithLabelValues(table).Inc() }
	db, err := c.open(ctx, cfg)
	if err != nil {
		return err
	}
	if err := c.prepare(ctx, db); err != nil {
		db.Close()
		return err
	}
	c.db.Store(&db)
	c.flows = newCommitter(c.cfg, (&flowWriter{db, c.metrics}).insert)
	c.telemetry = newCommitter(c.cfg, (&telemetryWriter{db, c.metrics}).insert)
	c.telemetry.linger, c.telemetry.grows = max(c.cfg.Linger, telemetryLinger), true
	c.vpn = newCommitter(c.cfg, (&vpnWriter{db, c.metrics}).insert)
	c.loops.Start(ctx)
	c.loops.Go(c.flows.run)
	c.loops.Go(c.telemetry.run)
	c.loops.Go(c.vpn.run)
	if err := c.subscribe(c.loops.Context()); err != nil {
		return errors.Join(err, c.close())
	}
	return nil
}

func (c *Component) prepare(ctx context.Context, db store.DB) error {
	if err := store.Supported(ctx, db); err != nil {
		return err
	}
	if err := store.Whole(ctx, db); err != nil {
		return err
	}
	if err := migrate(ctx, db); err != nil {
		return err
	}
	if err := setRetention(ctx, db, "flows", "start", c.cfg.Retention); err != nil {
		return err
	}
	if err := setRetention(ctx, db, "flow_tags", "start", c.cfg.Retention); err != nil {
		return err
	}
	if err := setRetention(ctx, db, "quality", "hour", c.cfg.Retention); err != nil {
		return err
	}
	if err := setRetention(ctx, db, "circuit_counters", "minute", c.cfg.UsageRetention); err != nil {
		return err
	}
	for _, table := range []string{"telemetry", "vpn_flows", "vpn_fairness"} {
		if err := setRetention(ctx, db, table, "time", c.cfg.TelemetryRetention); err != nil {
			return err
		}
	}
	return nil
}

// subscribe joins the group once per worker, because a member is given one
// message at a time and several are to share an insert.
func (c *Component) subscribe(ctx context.Context) error {
	for range c.cfg.Workers {
		if err := c.deps.Bus.Subscribe(ctx, bus.TopicFlows, group, c.takeFlows); err != nil {
			return fmt.Errorf("subscribe to flows: %w", err)
		}
		if err := c.deps.Bus.Subscribe(ctx, bus.TopicTelemetry, group, c.takeTelemetry); err != nil {
			return fmt.Errorf("subscribe to telemetry: %w", err)
		}
		if err := c.deps.Bus.Subscribe(ctx, bus.TopicVPN, group, c.takeVPN); err != nil {
			return fmt.Errorf("subscribe to VPN flows: %w", err)
		}
	}
	return nil
}

// drainTimeout bounds how long Stop lets the bus run empty: of the 15 s that a
// component is given to stop, what a busy host may need to close the database is left.
const drainTimeout = 10 * time.Second

// Stop stores what is already on the bus and closes the database. Its
// producers are to be stopped before it.
func (c *Component) Stop(ctx context.Context) error {
	if c.db.Load() == nil {
		return nil
	}
	drain, cancel := context.WithTimeout(ctx, c.drain)
	defer cancel()
	c.busy.drain(drain)
	return c.close()
}

// close waits for inserts under way: the database must not be closed under them.
func (c *Component) close() error {
	stopped := c.loops.Stop(context.Background())
	db := *c.db.Swap(nil)
	return errors.Join(stopped, db.Close())
}

// Ready returns an error while the database does not answer.
func (c *Component) Ready(ctx context.Context) error {
	db := c.db.Load()
	if db == nil {
		return errors.New("the database is not open")
	}
	rows, err := (*db).Lookup(ctx, "SELECT 1")
	if err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	return rows.Close()
}

// Handler serves FlowStoreService.
func (c *Component) Handler() (string, http.Handler) {
	return flowv1connect.NewFlowStoreServiceHandler(&api{c}, rpc.Bounded(rpc.MaxRequest))
}

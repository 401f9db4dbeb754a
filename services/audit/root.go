// Package audit keeps who did what, in a chain of hashes that shows what was done to it since (services/audit/chain).
//
// In: calls that change something, logins and refusals, from the gate of the port and the interceptor of every handler
// (internal/rpc). Out: records in etcd, AuditService. Next: an admin, by `millrace audit` and the dashboard.
package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/proto/gen/millrace/audit/v1/auditv1connect"
)

// Dependencies of the service.
type Dependencies struct {
	// On tells that callers log in; without that there is nobody to record.
	On         bool
	State      *state.Store
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Now is the clock; nil: the host's.
	Now func() time.Time
}

// Component serves AuditService, and is the rpc.Recorder of a process.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	loops   lifecycle.Loops
	writer  *writer
	alike   *alike
	open    open
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	m := newMetrics(deps.Registerer)
	return &Component{cfg: cfg, deps: deps, metrics: m, writer: newWriter(deps.State, cfg.Records, deps.Log, m, deps.Now), alike: newAlike(cfg.Records, m.summed)}, nil
}

// headEvery is how often the head is logged: a reader of the log has a mark of the chain that is not in etcd.
const headEvery = time.Hour

// Start begins to write.
func (c *Component) Start(ctx context.Context) error {
	c.loops.Start(ctx)
	if !c.deps.On {
		return nil
	}
	c.loops.Go(c.writer.run)
	c.loops.Every(alikeWindow, func(context.Context) { c.flush(false) })
	c.loops.Every(headEvery, func(context.Context) { c.writer.logHead() })
	return nil
}

// Stop writes what waits.
func (c *Component) Stop(ctx context.Context) error {
	if !c.deps.On {
		return c.loops.Stop(ctx)
	}
	c.flush(true)
	err := c.writer.drain(ctx)
	c.writer.logHead()
	return errors.Join(err, c.loops.Stop(ctx))
}

// Recorder is what the gate asks; nil where nobody logs in.
func (c *Component) Recorder() rpc.Recorder {
	if !c.deps.On {
		return nil
	}
	return c
}

// maxRequest is room for filters.
const maxRequest = 64 << 10

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return auditv1connect.NewAuditServiceHandler(&api{c}, rpc.Bounded(maxRequest))
}

// Package vpn distributes the weights by which VPNs share the core to all PEs, and measures the resulting fairness
// (paper 001).
//
// Weights come from a policy file or from an operator. Each change has a version, an author, a time, a reason and a
// difference, and is kept in etcd. A PE with another version gets the version in force again until it has it; the API
// names the PEs that do not have it yet.
//
// In: policy files by internal/vpnshare, the inventory's PEs, links and routes from services/paths, flows from each
// services/peagent. Out: weights to the agents; SampleBatch on the bus with fair shares, F and Jain's index; VpnService
// for the network. Next: services/peagent, which enforces the weights, and services/flowstore, which stores the samples
// for services/dashboard.
package vpn

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// KeyLeader is held by the replica that follows the policy file. Replicas whose files differ, for example while the
// file is being replaced on one of them, would otherwise replace each other's weights once a second.
const KeyLeader = "vpn/leader"

// keyReporter is held by the replica that raises the events of a rollout.
const keyReporter = "vpn/reporter"

// Dependencies of the service.
type Dependencies struct {
	Inventory *device.Inventory
	// TLS is the controller's client credentials, such as (*device.Inventory).ClientTLS.
	TLS        *tls.Config
	State      *state.Store
	Bus        bus.Bus
	Paths      pathsv1connect.PathsServiceClient
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Component is the VPN service.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	events  *events.Publisher
	records records
	library library
	routes  routes
	leader  *state.Leader
	// reporter is apart from leader: a replica that cannot read the policy file does not lead, and may report.
	reporter *state.Leader
	pes      []*pe

	// changing serialises changes of this process; etcd refuses a concurrent change of another one.
	changing sync.Mutex

	mu sync.Mutex
	// current is the newest change, nil before the first.
	current *vpnv1.Change
	// problem is why the policy's weights are not in force; empty if they are.
	problem string
	// digest is the hash of the policy when it was last read, here or by the replica that leads.
	digest []byte
	// ignored is the hash of a policy file here that differs from it.
	ignored []byte
	// last is the last measurement.
	last round
	// reported is the last reported state of the rollout.
	reported string

	loops lifecycle.Loops
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Component{
		cfg: cfg, deps: deps, events: events.NewPublisher(deps.Bus, deps.Log),
		records: records{store: deps.State, keep: cfg.History}, library: library{cfg.Dir},
		routes: routes{paths: deps.Paths}, leader: state.NewLeader(deps.State, KeyLeader, state.Replica()),
		reporter: state.NewLeader(deps.State, keyReporter, state.Replica()),
	}
	c.metrics = newMetrics(deps.Registerer, c)
	for _, d := range deps.Inventory.Devices {
		if d.PE != "" {
			c.pes = append(c.pes, newPE(c, d))
		}
	}
	return c, nil
}

// Start begins to poll the PEs, whether they answer yet or not.
func (c *Component) Start(ctx context.Context) error {
	newest, err := c.records.newest(ctx)
	if err != nil {
		return err
	}
	c.adopt(newest)
	c.loops.Start(ctx)
	for _, p := range c.pes {
		c.loops.Go(p.run)
	}
	c.loops.Every(c.cfg.Interval, c.reconcile)
	c.loops.Every(c.cfg.Interval, c.measure)
	c.loops.Every(c.cfg.Routes, c.readRoutes)
	return nil
}

// Stop ends polling. PEs keep their weights.
func (c *Component) Stop(ctx context.Context) error {
	err := c.loops.Stop(ctx)
	c.leader.Resign()
	c.reporter.Resign()
	return err
}

// Handler returns path and handler of the API.
func (c *Component) Handler() (string, http.Handler) {
	return vpnv1connect.NewVpnServiceHandler(&api{c}, rpc.Bounded(rpc.MaxRequest))
}

// inForce is the newest change, nil before the first.
func (c *Component) inForce() *vpnv1.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// newer is the change in force, read anew: another replica may have made one since this one was read, and installed it.
// While etcd does not answer the last one read stays in force.
func (c *Component) newer(ctx context.Context, known *vpnv1.Change) *vpnv1.Change {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	newest, err := c.records.newest(ctx)
	if err != nil {
		return known
	}
	c.adopt(newest)
	return c.inForce()
}

// adopt makes a change the one in force and triggers its installation on every PE.
func (c *Component) adopt(newest *vpnv1.Change) {
	c.mu.Lock()
	old := c.current.GetVersion().GetNumber()
	if newest.GetVersion().GetNumber() > old {
		c.current = newest
	}
	c.mu.Unlock()
	if newest.GetVersion().GetNumber() > old {
		c.metrics.version.Set(float64(newest.GetVersion().GetNumber()))
		for _, p := range c.pes {
			p.trigger()
		}
	}
}

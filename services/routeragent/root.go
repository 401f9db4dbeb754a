// Package routeragent is the gNMI target for routers made of Linux and FRR.
//
// In: gNMI over mutually authenticated TLS, OpenConfig. Out: kernel and FRR
// configured by it, state read back from them. Next: the router forwards.
//
// A Set goes gnmi (request) → tree (edit, judge) → intent (compile) → apply
// (journal, order, roll back) → frr and kernel (change, read back). A Get or
// Subscribe goes gnmi → state → kernel and frr. docs/reference/routeragent.md
// lists every path.
package routeragent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vishvananda/netns"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/millrace/millrace/internal/access"
	"github.com/millrace/millrace/internal/bounds"
	"github.com/millrace/millrace/internal/filelock"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/services/routeragent/apply"
	"github.com/millrace/millrace/services/routeragent/frr"
	service "github.com/millrace/millrace/services/routeragent/gnmi"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/state"
)

// Dependencies of an Agent.
type Dependencies struct {
	Log *slog.Logger
	// Registerer is where counters are registered; nil: nowhere.
	Registerer prometheus.Registerer
	// Gatherer is what the metrics endpoint serves; nil: there is none.
	Gatherer prometheus.Gatherer
	// Namespace to work in; nil is the process's own.
	Namespace *netns.NsHandle
	// Listener replaces Configuration.Listen.
	Listener net.Listener
	// LSPs replaces FRR for routers whose LSPs are made by something else.
	LSPs apply.LSPs
	// After times the roll-back of a commit that is not confirmed; nil: by the clock.
	After func(d time.Duration, f func()) (stop func())
	// Drivers is the folder where the kernel shows what drivers report of interfaces; empty: /sys/class/net.
	Drivers string
}

// Agent is a running target.
type Agent struct {
	cfg     Configuration
	deps    Dependencies
	lock    *filelock.Lock
	kernel  *kernel.Kernel
	engine  *apply.Engine
	store   *apply.Store
	metrics *metrics
	wake    *service.Signal
	server  *grpc.Server
	health  *health.Server
	scrape  scrape
	users   *logins
	roles   *access.Watched[access.Roles]
	// credentials are read again when their files change.
	credentials *mtls.Credentials
	conns       *bounds.Connections
	clients     *bounds.Clients
	streams     streams
	stop        context.CancelFunc
	wg          sync.WaitGroup
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Agent, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Memory, cfg.SetsPerSecond = cmp.Or(cfg.Memory, defaultMemory), cmp.Or(cfg.SetsPerSecond, defaultSets)
	return &Agent{cfg: cfg, deps: deps, wake: service.NewSignal()}, nil
}

// Start takes over the objects of an earlier agent, then serves. The data folder is locked against a second agent: it
// would recover what this one is about to change.
func (a *Agent) Start(ctx context.Context) (err error) {
	if err := os.MkdirAll(a.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	if a.lock, err = filelock.Try(filepath.Join(a.cfg.DataDir, "lock")); err != nil {
		return fmt.Errorf("data folder %s: %w: a router has one agent", a.cfg.DataDir, err)
	}
	if err := a.takeOver(ctx); err != nil {
		return errors.Join(err, a.lock.Close())
	}
	return nil
}

// takeOver brings kernel and FRR to the configuration that is kept, and serves.
func (a *Agent) takeOver(ctx context.Context) error {
	creds, err := a.transport()
	if err != nil {
		return err
	}
	if err := a.open(); err != nil {
		return err
	}
	if err := a.readAccess(); err != nil {
		a.kernel.Close()
		return err
	}
	if err := a.store.Recover(ctx); err != nil {
		a.kernel.Close()
		return err
	}
	listener := a.deps.Listener
	if listener == nil {
		if listener, err = net.Listen("tcp", a.cfg.Listen); err != nil {
			a.kernel.Close()
			return fmt.Errorf("listen for gNMI: %w", err)
		}
	}
	return a.serve(listener, creds)
}

// open wires the parts.
func (a *Agent) open() error {
	features, err := kernel.Probe()
	if err != nil {
		return err
	}
	if a.deps.LSPs != nil {
		delete(features, kernel.FeatureMPLS) // another maker of LSPs may need no MPLS
	}
	for _, missing := range features.Missing() {
		a.deps.Log.Warn("kernel feature missing; configuration that needs it is refused", "feature", missing)
	}
	ns := netns.None()
	if a.deps.Namespace != nil {
		ns = *a.deps.Namespace
	}
	a.kernel, err = kernel.Open(kernel.Configuration{Namespace: ns, Owned: filepath.Join(a.cfg.DataDir, "owned.json")}, a.deps.Log)
	if err != nil {
		return err
	}
	a.engine = &apply.Engine{Kernel: a.kernel, LSPs: a.deps.LSPs, Features: features, Log: a.deps.Log}
	if router := a.frr(); router != nil && a.engine.LSPs == nil {
		a.engine.LSPs = router
	}
	a.store = apply.NewStore(apply.Configuration{Dir: a.cfg.DataDir, Hardware: a.hardware, Interfaces: a.interfaceNames, After: a.deps.After}, a.engine)
	queues := queueCollector{plan: func() intent.Plan { _, p := a.store.Running(); return p }, kernel: a.kernel}
	a.metrics = newMetrics(a.deps.Registerer, func() bool { return a.store.Drift() != nil }, a.dependencies, queues)
	return nil
}

func (a *Agent) frr() *frr.Router {
	if a.cfg.FRRInstance == "none" {
		return nil
	}
	return &frr.Router{Vtysh: frr.Vtysh{Instance: a.cfg.FRRInstance}}
}

// tellHealth reports whether the router holds its configuration. The agent itself serves either way, as the service
// without a name: a client that refused to talk to it could not repair the router.
func (a *Agent) tellHealth() {
	now := healthpb.HealthCheckResponse_SERVING
	if a.store.Drift() != nil {
		now = healthpb.HealthCheckResponse_NOT_SERVING
	}
	a.health.SetServingStatus(gnmi.GNMI_ServiceDesc.ServiceName, now)
}

// self is what the agent shows of itself as state.
func (a *Agent) self() state.Agent {
	return state.Agent{Drift: a.store.Drift(), Pending: a.store.PendingID(), Missing: a.engine.Features.Missing()}
}

// watch tells subscribers of changes of links and routes, resolves LSPs again after
// them (adjacency labels change when a link comes back), computes again what depends on ports that changed, and repairs
// our objects that another program changed.
func (a *Agent) watch(ctx context.Context, events <-chan struct{}) {
	todo := agenda{next: time.Now().Add(inspect)}
	timer := time.NewTimer(inspect)
	defer timer.Stop()
	for changed := a.store.Changed(); ; {
		if a.store.Drift() != nil && todo.wait == 0 {
			todo.within(time.Now().Add(retry))
		}
		timer.Reset(time.Until(todo.due()))
		select {
		case <-ctx.Done():
			return
		case <-changed:
			changed = a.store.Changed()
			a.tellHealth()
		case _, ok := <-events:
			if !ok {
				events = a.rewatch(ctx)
			}
			a.wake.Send()
			todo.change(time.Now())
		case <-timer.C:
			if todo.early(time.Now()) && a.unconcerned() {
				todo.pass()
				continue
			}
			ok := a.look(ctx, todo.changed())
			todo.looked(time.Now(), ok)
		}
	}
}

// unconcerned reports whether changes of links and routes are none for the configuration: without LSPs, only ports that
// come, go or negotiate another speed are.
func (a *Agent) unconcerned() bool {
	return !a.store.HasTunnels() && a.store.Drift() == nil && a.store.Outdated() == nil
}

// look compares the router with its configuration, repairs it, and reports whether it is right now. After a change of
// links or routes more is needed than to compare.
func (a *Agent) look(ctx context.Context, changed bool) bool {
	before := a.store.Drift()
	if !changed && before == nil && a.store.Check(ctx) == nil {
		return true
	}
	ok := a.reconcile(ctx)
	a.tellHealth()
	if (before == nil) != (a.store.Drift() == nil) {
		a.wake.Send() // in-sync is state that can be subscribed to
	}
	return ok
}

// rewatch watches again after the kernel lost messages; nil, which never wakes, if it cannot.
func (a *Agent) rewatch(ctx context.Context) <-chan struct{} {
	if ctx.Err() != nil {
		return nil
	}
	events, err := a.kernel.Watch(ctx.Done())
	if err != nil {
		a.deps.Log.Error("changes of links are no longer seen at once", "error", err)
		return nil
	}
	return events
}

func (a *Agent) reconcile(ctx context.Context) bool {
	if a.store.Reconcile(ctx) != nil {
		a.metrics.reconciled.WithLabelValues("failed").Inc()
		return false
	}
	a.metrics.reconciled.WithLabelValues("ok").Inc()
	return true
}

// Stop ends the service. Kernel and FRR keep their configuration, and traffic flows on.
func (a *Agent) Stop(ctx context.Context) error {
	if a.server == nil {
		return nil
	}
	a.stop()
	a.health.Shutdown()
	a.scrape.stop(ctx)
	done := make(chan struct{})
	go func() { a.server.GracefulStop(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Second): // streams never end by themselves
		a.server.Stop()
	case <-ctx.Done():
		a.server.Stop()
	}
	a.wg.Wait()
	a.store.Stop()
	a.kernel.Close()
	return a.lock.Close()
}

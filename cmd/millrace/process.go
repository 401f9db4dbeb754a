package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/logging"
	"github.com/millrace/millrace/internal/monitor"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/version"
	"github.com/millrace/millrace/services/dashboard"
	"github.com/millrace/millrace/services/identity"
)

// process is what one `millrace up` or `millrace serve NAME` runs: the engines
// it needs, the services it hosts, and the way to all others.
type process struct {
	cfg     *config
	log     *slog.Logger
	logging *logging.Log
	metrics *prometheus.Registry
	bus     bus.Bus
	kafka   *bus.KafkaConfiguration // nil: not asked for yet
	state   *state.Store
	// shared is where replicas share their work and elect leaders; nil where etcd is within the process, which then
	// has no replica.
	shared  *state.Store
	devices *device.Inventory
	tls     *tls.Config
	// name is the service's that is hosted, and the dashboard's where all are: its port is the process's.
	name   string
	hosted map[string]bool
	// credentials are for mutual TLS with other services; nil: there is none.
	credentials *mtls.Credentials
	mux         *http.ServeMux
	mounts      []dashboard.Mount
	// gate stands before every route of this process's port.
	gate     rpc.Gate
	local    *rpc.Local
	closers  []func(context.Context) error
	group    *lifecycle.Group
	listener net.Listener
	// stores are what hosted services keep data in, beside etcd.
	stores []monitor.Dependency
	// identity knows the callers, page is the port that they come to; nil where not hosted.
	identity *identity.Component
	page     *dashboard.Component
	// link requests a login link, also where somebody is known.
	link bool
	// drain is how long the process goes on after SIGTERM; draining is whether it does.
	drain    time.Duration
	draining atomic.Bool
	// failed gets the error of a part without which the rest is no use.
	failed chan error
	// remotes are the clients of services elsewhere, by their names: each takes the certificate of its service
	// only.
	remotes map[string]*http.Client
	// failedOver counts calls to them; nil: there was none yet.
	failedOver *prometheus.CounterVec
}

// newProcess opens the engines; run ends what it opened.
func newProcess(ctx context.Context, cfg *config, listener net.Listener, hosted ...string) (*process, error) {
	if err := cfg.ownData(); err != nil {
		return nil, err
	}
	log := logging.New(cfg.Log, os.Stderr)
	p := &process{
		cfg: cfg, listener: listener, name: "dashboard", remotes: map[string]*http.Client{}, failed: make(chan error, 1), hosted: map[string]bool{}, mux: http.NewServeMux(),
		log: log.Logger, logging: log, metrics: prometheus.NewRegistry(),
	}
	p.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	p.metrics.MustRegister(monitor.Dependencies(p.dependencies))
	for _, name := range hosted {
		p.hosted[name] = true
	}
	if len(hosted) == 1 {
		p.name = hosted[0]
	}
	p.limitMemory()
	p.local = rpc.NewLocal(rpc.As(rights.Caller{Name: "millrace", Role: rights.Service}, p.recorder, p.mux))
	p.closers = append(p.closers, func(context.Context) error { return p.local.Close() })
	for _, open := range []func(context.Context) error{p.trace, p.openBus, p.openState, p.openInventory} {
		if err := open(ctx); err != nil {
			return nil, errors.Join(err, p.close(ctx))
		}
	}
	err := p.openTLS()
	if err == nil {
		err = p.assemble()
	}
	if err != nil {
		return nil, errors.Join(err, p.close(ctx))
	}
	return p, nil
}

// openBus opens the bus; what an in-process one has left in the data folder is taken up.
func (p *process) openBus(ctx context.Context) error {
	waiting := filepath.Join(p.cfg.DataDir, "bus")
	if len(p.cfg.Kafka.Brokers) == 0 {
		memory, err := bus.OpenMemory(waiting)
		if err != nil {
			return err
		}
		p.bus = memory
		p.metrics.MustRegister(memory)
	} else {
		cluster, err := p.kafkaCluster(nil)
		if err != nil {
			return err
		}
		cluster.Lost = p.messagesLost
		kafka, err := bus.NewKafka(cluster)
		if err != nil {
			return err
		}
		p.bus = kafka
		p.metrics.MustRegister(kafka)
		if err := kafka.TakeUp(ctx, waiting); err != nil {
			return errors.Join(err, kafka.Close())
		}
	}
	p.closers = append(p.closers, func(context.Context) error { return p.bus.Close() })
	return nil
}

// kafkaCluster is the cluster of some brokers, or of section kafka's. The files are read at the first call.
func (p *process) kafkaCluster(brokers []string) (bus.KafkaConfiguration, error) {
	if p.kafka == nil {
		cluster, credentials, err := p.cfg.Kafka.cluster(mtls.Dependencies{Log: p.log, Registerer: p.metrics})
		if err != nil {
			return cluster, err
		}
		if credentials != nil {
			p.renew(credentials)
		}
		p.kafka = &cluster
	}
	cluster := *p.kafka
	if len(brokers) > 0 {
		cluster.Brokers = brokers
	}
	return cluster, nil
}

// messagesLost reports messages that the bus lost as an event.
func (p *process) messagesLost(topic, group string, messages int64) {
	go events.NewPublisher(p.bus, p.log).Publish(context.Background(), events.MessagesLost, topic,
		fmt.Sprintf("%d messages on %s were deleted by the brokers before %s took them.", messages, topic, group))
}

// openState starts or reaches etcd, where a hosted service keeps state there.
func (p *process) openState(ctx context.Context) error {
	keeps := p.logins() || slices.ContainsFunc(services(), func(s service) bool { return p.hosted[s.name] && s.state })
	if len(p.cfg.Etcd.Endpoints) > 0 {
		return p.dialState(ctx, keeps)
	}
	if !keeps {
		return nil
	}
	embedded := state.NewEmbedded(filepath.Join(p.cfg.DataDir, "etcd"), state.Quota(p.cfg.Etcd.Quota))
	if err := embedded.Start(ctx); err != nil {
		return err
	}
	p.state = embedded.Store()
	p.watch(embedded.Failed())
	p.closers = append(p.closers, embedded.Stop)
	return p.keepState(ctx, embedded.Defragment)
}

// dialState connects to an etcd cluster. A process that keeps nothing there starts and is ready without it, too: it
// only shares its work.
func (p *process) dialState(ctx context.Context, keeps bool) error {
	store, credentials, err := p.cfg.Etcd.dial(p.mtls())
	if err != nil {
		return err
	}
	p.shared = store
	if credentials != nil {
		p.renew(credentials)
	}
	p.closers = append(p.closers, func(context.Context) error { return store.Close() })
	if !keeps {
		p.claimOnce(store)
		return nil
	}
	p.state = store
	if err := p.awaitWhole(ctx); err != nil {
		return err
	}
	if err := store.Join(ctx, state.Own, version.Get().Version); err != nil {
		return err
	}
	if err := claim(ctx, store, p.installation()); err != nil {
		return err
	}
	return p.keepState(ctx, nil)
}

const (
	// wholeTimeout is how long a request to etcd may take at the start before it is repeated.
	wholeTimeout = 5 * time.Second
	wholePause   = time.Second
)

// awaitWhole waits until etcd lets this process read and write, and has answered that it does not have a part of a
// backup only: nothing starts before. What is wrong is logged once, and again when it is something else.
func (p *process) awaitWhole(ctx context.Context) error {
	said := ""
	for {
		look, cancel := context.WithTimeout(ctx, wholeTimeout)
		err := p.state.Ready(look)
		if err == nil {
			err = p.state.Whole(look)
		}
		cancel()
		if err == nil || errors.Is(err, state.ErrHalfRestored) {
			return err
		}
		if err.Error() != said {
			said = err.Error()
			p.log.Warn("nothing starts before etcd can be used", "error", err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wholePause):
		}
	}
}

// keepState looks how full etcd is, after it has refused one that has a part of a backup only, or records of a newer
// millrace.
func (p *process) keepState(ctx context.Context, defragment func() error) error {
	if err := p.awaitWhole(ctx); err != nil {
		return err
	}
	if err := p.join(ctx, p.state); err != nil {
		return err
	}
	keeper := state.NewKeeper(p.state, defragment, events.NewPublisher(p.bus, p.log), p.log, p.metrics)
	p.closers = append(p.closers, keeper.Stop)
	return keeper.Start(ctx)
}

func (p *process) openInventory(context.Context) (err error) {
	if p.devices, err = device.Load(p.cfg.Inventory); err != nil {
		return err
	}
	if len(p.devices.Devices) == 0 || !p.dials() {
		return nil
	}
	c, err := p.devices.Credentials(p.mtls())
	if err != nil {
		return err
	}
	p.tls = c.Client()
	p.renew(c)
	return nil
}

// dials reports whether a service of this process speaks to routers: the others need no key for them, and have none.
func (p *process) dials() bool {
	return slices.ContainsFunc(services(), func(s service) bool { return s.dials && p.hosted[s.name] })
}

func (p *process) mtls() mtls.Dependencies {
	return mtls.Dependencies{Log: p.log, Registerer: p.metrics, Events: events.NewPublisher(p.bus, p.log)}
}

// renew looks at the files of certificates until the process is closed.
func (p *process) renew(c *mtls.Credentials) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	p.closers = append(p.closers, func(context.Context) error { cancel(); running.Wait(); return nil })
}

// to returns what a generated client needs to reach a service: memory when it
// is hosted here, its endpoint when it is not.
func (p *process) to(name string) (*http.Client, string) {
	if p.hosted[name] {
		return p.local.Client(), rpc.LocalURL
	}
	return p.elsewhere(name), p.cfg.Endpoints[name].first()
}

// elsewhere is the client of a service in another process.
func (p *process) elsewhere(name string) *http.Client {
	if p.remotes[name] == nil {
		p.remotes[name] = rpc.NewRemote(p.remote(name))
	}
	return p.remotes[name]
}

// run starts everything, waits for ctx or the end of a part, stops everything.
func (p *process) run(ctx context.Context) error {
	if err := p.group.Start(ctx); err != nil {
		return errors.Join(err, p.close(ctx))
	}
	p.warnOpen()
	if err := p.announce(ctx); err != nil {
		return errors.Join(err, p.group.Stop(context.WithoutCancel(ctx)), p.close(ctx))
	}
	var failed error
	select {
	case <-ctx.Done():
		p.log.Info("stopping", "drain", p.drain.String())
		failed = p.drainBefore()
	case failed = <-p.failed:
		p.log.Error("stopping, because a part has ended", "error", failed)
	}
	if b, ok := p.bus.(interface{ Stopping() }); ok {
		b.Stopping()
	}
	ctx = context.WithoutCancel(ctx)
	return errors.Join(failed, p.group.Stop(ctx), p.close(ctx))
}

func (p *process) close(ctx context.Context) error {
	var errs []error
	for i := len(p.closers) - 1; i >= 0; i-- {
		errs = append(errs, p.closers[i](ctx))
	}
	p.closers = nil
	return errors.Join(errs...)
}

// reaches reports whether a service is hosted here or has an endpoint.
func (p *process) reaches(name string) bool {
	return p.hosted[name] || p.cfg.Endpoints[name].first() != ""
}

// optional returns the client of a service that is used where it runs; nil where it has neither host nor
// endpoint.
func optional[C any](p *process, name string, client func(connect.HTTPClient, string, ...connect.ClientOption) C) (none C) {
	if !p.reaches(name) {
		return none
	}
	httpClient, url := p.to(name)
	return client(httpClient, url)
}

// checkEndpoints refuses to start a service without those it needs, and logs which it does without.
func (p *process) checkEndpoints(s service) error {
	for _, n := range s.needs {
		if !p.reaches(n) {
			return fmt.Errorf("%s talks to %s, which does not run here: set endpoints.%s to its URL", s.name, n, n)
		}
	}
	for _, n := range s.uses {
		if !p.reaches(n) {
			p.log.Info("service runs without another that it can use; the setting adds it", "service", s.name, "without", n, "setting", "endpoints."+n)
		}
	}
	return nil
}

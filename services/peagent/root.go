// Package peagent is the I2VFC agent of a provider edge (paper 001): it shares the core fairly among VPNs without the
// core's help.
//
// The kernel forwards, counts and paces packets (services/peagent/bpf). The agent sends management packets, runs the
// control law on their feedback and sets the rates. When the agent ends, traffic goes on: at the last rates for
// FailOpen, then unshaped. The next agent takes over.
//
// In: counters and feedback from services/peagent/datapath, routes from FRR, weights from a policy file or the API.
// Out: rates, and VpnService for `millrace vpn`. Next: services/peagent/bpf, which paces packets in the kernel.
package peagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vishvananda/netns"

	"github.com/millrace/millrace/internal/access"
	"github.com/millrace/millrace/internal/bounds"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/vpnshare"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/services/peagent/bpf"
	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
	"github.com/millrace/millrace/services/peagent/management"
	"github.com/millrace/millrace/services/peagent/prefixes"
	"github.com/millrace/millrace/services/peagent/sequence"
)

// Dependencies of the agent.
type Dependencies struct {
	Log *slog.Logger
	// Registerer is where the agent's metrics are registered; nil: nowhere.
	Registerer prometheus.Registerer
	// Gatherer is what /metrics shows; nil leaves /metrics out.
	Gatherer prometheus.Gatherer
}

// Agent controls the VPN flows that enter the network at this PE.
type Agent struct {
	cfg     Configuration
	law     law.Parameters
	log     *slog.Logger
	metrics *metrics
	// registerer takes the collector of flows, which runs from Start on.
	registerer prometheus.Registerer
	gather     prometheus.Gatherer

	mode    datapath.Mode
	dp      *datapath.Datapath
	shares  []prefixes.Limits // of the tables of prefixes per VPN
	conn    *net.UDPConn
	servers []*http.Server
	// credentials are of the control API; nil: there is none.
	credentials *mtls.Credentials
	roles       *access.Watched[access.Roles]
	conns       *bounds.Connections
	clients     *bounds.Clients
	numbers     *sequence.Numbers // of updates to other PEs
	installing  sync.Mutex        // over the state file; before mu
	// save is saveInstalled, or a test's slow disk.
	save func(*vpnv1.InstallRequest) error

	// mu guards all fields below, and reads of the datapath's memory against Stop.
	mu          sync.Mutex
	schedulers  []*datapath.Scheduler
	ports       [][]int // interface indices per VPN
	amiss       error   // with ports that have no programs
	requests    *requests
	keys        *management.Keyring
	policy      vpnshare.Policy
	version     *vpnv1.Version // of the weights that a control plane installed; nil: none
	reg         registry
	pinned      map[bpf.PePeer]uint32 // flow indices of an earlier agent
	nextIndex   uint32                // first flow index never used
	peerUpdates map[netip.Addr]peerUpdate
	lastWarning map[[4]byte]uint64 // of a silent PE, ns

	// One round of the control loop over all flows. Times are in ns.
	cursor       int
	roundBegan   uint64
	sampled      uint64   // last sample of throughputs
	lastActivity uint64   // last window-limited flow, loss event or time-out
	interval     float64  // between the last two rounds, seconds
	sums         law.Sums // of this round
	localSums    law.Sums // of the last round
	endSlowStart bool     // a flow saw its first loss event in this round
	domain       law.Domain

	keysRead, weightsRead time.Time
	cancel                context.CancelFunc
	running               sync.WaitGroup
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, d Dependencies) (*Agent, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return newAgent(cfg, d), nil
}

// newAgent takes any configuration, for tests of a part.
func newAgent(cfg Configuration, d Dependencies) *Agent {
	a := &Agent{
		cfg: cfg, law: cfg.parameters(), log: d.Log, gather: d.Gatherer, reg: newRegistry(len(cfg.VPNs), cfg.Flows), shares: cfg.shares(),
		peerUpdates: map[netip.Addr]peerUpdate{}, lastWarning: map[[4]byte]uint64{},
		clients: bounds.NewClients(clientLimits),
		policy:  vpnshare.Policy{Criterion: vpnshare.Equal, Weights: map[string]float64{}},
	}
	a.save = a.saveInstalled
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.registerer = d.Registerer
	if a.registerer == nil {
		a.registerer = prometheus.NewRegistry()
	}
	a.metrics = newMetrics(a.registerer)
	return a
}

// Start takes over or sets up the datapath and starts the control loop. It works in the network namespace of the
// calling thread.
func (a *Agent) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop(ctx))
		}
	}()
	if !a.law.Safe() {
		a.log.Warn("a and b are outside the region in which VPN flows and TCP do not disturb each other: a below 1, b below 0.5",
			"a", a.law.A, "b", a.law.B)
	}
	if a.mode, err = a.chooseMode(); err != nil {
		return err
	}
	o := datapath.Options{Folder: a.cfg.Pins, Flows: a.cfg.Flows, Prefixes: a.cfg.Prefixes, MarkMask: a.cfg.MarkMask}
	if a.dp, err = datapath.Open(o); err != nil {
		return err
	}
	if err = a.readPinned(); err != nil {
		return fmt.Errorf("read the pinned maps of the last agent: %w", err)
	}
	a.numbers = sequence.Open(a.cfg.sequenceFile(), time.Now(), a.sequenceNotKept)
	if err = a.speak(ctx); err != nil {
		return err
	}
	if a.cfg.Weights != "" {
		if a.policy, err = loadWeights(a.cfg.Weights); err != nil {
			return err
		}
		modified(a.cfg.Weights, &a.weightsRead)
	}
	a.readInstalled()
	ports, err := datapath.OpenPorts()
	if err != nil {
		return err
	}
	defer ports.Close()
	if err = a.configure(ports); err != nil {
		return err
	}
	if err = a.attach(ports); err != nil {
		return err
	}
	watch, err := a.watchPorts(ports)
	if err != nil {
		return err
	}
	if err = a.serve(ctx); err != nil {
		return err
	}
	ns, err := netns.Get()
	if err != nil {
		return fmt.Errorf("find the network namespace: %w", err)
	}
	a.begin(func(ctx context.Context) { watch.follow(ctx, ns) })
	a.log.Info("controls VPN flows", "pe", a.cfg.PE, "mode", a.mode, "vpns", len(a.cfg.VPNs), "taken over", a.dp.Adopted)
	return nil
}

// speak opens the socket of management packets, with the keys that sign them.
func (a *Agent) speak(ctx context.Context) (err error) {
	if a.conn, err = listen(ctx, netip.AddrPortFrom(a.cfg.PE, a.cfg.Port), a.cfg.MarkMask); err != nil {
		return err
	}
	a.requests = newRequests(a.conn, a.cfg.PE, func(n int) { a.metrics.errors.Add(float64(n)) })
	keys, err := management.LoadKeys(a.cfg.Keys)
	if err != nil {
		return err
	}
	modified(a.cfg.Keys, &a.keysRead)
	return a.useKeys(keys)
}

func (a *Agent) sequenceNotKept(err error) {
	a.metrics.errors.Inc()
	a.log.Warn("sequence numbers are not kept: other PEs may refuse this one's updates after a restart with an earlier clock", "error", err)
}

// configure writes the maps of the datapath.
func (a *Agent) configure(p *datapath.Ports) error {
	a.dp.KeepAlive(datapath.Now() + uint64(a.cfg.FailOpen))
	a.dp.Configure(bpf.PeControl{
		Local: datapath.Word(a.cfg.PE), Port: a.cfg.Port<<8 | a.cfg.Port>>8, Mode: uint8(a.mode), Key: a.requests.key,
		Handle: a.mode.Handle(), Overhead: a.cfg.Overhead,
	})
	a.ports = make([][]int, len(a.cfg.VPNs))
	for i, v := range a.cfg.VPNs {
		for _, name := range v.Ports {
			index, err := p.Index(name)
			if err != nil {
				return fmt.Errorf("VPN %s: %w", v.Name, err)
			}
			a.ports[i] = append(a.ports[i], index)
		}
	}
	if err := a.adopt(p); err != nil {
		return err
	}
	for i := range a.cfg.VPNs {
		if err := a.setRoutes(i, a.atFirst(i)); err != nil {
			return err
		}
	}
	return nil
}

// attach puts schedulers and programs on the ports.
func (a *Agent) attach(p *datapath.Ports) error {
	for _, name := range a.cfg.Core {
		if err := a.addScheduler(name); err != nil {
			return err
		}
	}
	return a.dp.Attach(p, a.cfg.Core, a.cfg.customers())
}

func (a *Agent) begin(followPorts func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	a.roundBegan, a.sampled, a.lastActivity = datapath.Now(), datapath.Now(), datapath.Now()
	a.running.Go(func() { a.run(ctx) })
	a.running.Go(a.receivePeerUpdates)
	a.running.Go(func() { followPorts(ctx) })
	if a.credentials != nil {
		a.running.Go(func() { a.credentials.Run(ctx) })
	}
	for _, v := range a.cfg.VPNs {
		if v.VRF != "" {
			a.running.Go(func() { a.followRoutes(ctx) })
			break
		}
	}
}

// everySecond reads changed files and samples throughputs.
func (a *Agent) everySecond() {
	a.reload()
	a.mu.Lock()
	a.sample(datapath.Now())
	a.mu.Unlock()
}

// Stop ends the agent and leaves the datapath as it is: the next agent takes it over, or after FailOpen nothing is
// shaped.
func (a *Agent) Stop(ctx context.Context) error {
	var errs []error
	if a.cancel != nil {
		a.cancel()
	}
	for _, s := range a.servers {
		errs = append(errs, s.Shutdown(ctx))
	}
	if a.conn != nil {
		errs = append(errs, a.conn.Close())
	}
	a.running.Wait()
	a.mu.Lock() // a handler that outlives Shutdown's time must not read memory that is no longer mapped
	defer a.mu.Unlock()
	for _, s := range a.schedulers {
		s.Close()
	}
	a.schedulers = nil
	if a.dp != nil {
		errs = append(errs, a.dp.Close())
	}
	a.cancel, a.servers, a.conn, a.dp = nil, nil, nil, nil
	return errors.Join(errs...)
}

// Remove removes programs, queueing disciplines and pinned maps of the agent from the router.
func Remove(cfg Configuration) error {
	ports, err := datapath.OpenPorts()
	if err != nil {
		return err
	}
	defer ports.Close()
	errs := []error{ports.Detach(append(cfg.customers(), cfg.Core...))}
	for _, p := range cfg.Core {
		errs = append(errs, datapath.CloseScheduler(p))
	}
	return errors.Join(append(errs, datapath.Unpin(cfg.Pins))...)
}

func parseMode(text string) (mode datapath.Mode, err error) {
	for _, m := range []datapath.Mode{datapath.EDT, datapath.HTB, datapath.Police} {
		if m.String() == text {
			return m, nil
		}
	}
	if text == "auto" {
		return datapath.EDT, nil
	}
	return 0, fmt.Errorf("unknown mode %q", text)
}

// chooseMode probes the kernel where the configuration says auto.
func (a *Agent) chooseMode() (datapath.Mode, error) {
	if a.cfg.Mode != "auto" {
		return parseMode(a.cfg.Mode)
	}
	f, err := datapath.Probe()
	if err != nil {
		return 0, err
	}
	if f.Programs != nil {
		return 0, fmt.Errorf("probe the kernel: %w", f.Programs)
	}
	if m := f.Mode(); m != datapath.HTB || a.cfg.Flows <= datapath.MaxHTBFlows {
		return m, nil
	}
	return datapath.Police, nil
}

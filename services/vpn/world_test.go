package vpn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/internal/testkit/wholefile"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// agent is a scripted PE agent, which can also report invalid flows; the real one is in e2e/vpn.
type agent struct {
	vpnv1connect.UnimplementedVpnServiceHandler
	mu       sync.Mutex
	flows    []*vpnv1.Flow
	vpns     []string
	has      *vpnv1.InstallRequest
	refuses  error
	installs int

	address string
	tls     *tls.Config
	server  *http.Server
}

func (a *agent) Flows(context.Context, *connect.Request[vpnv1.FlowsRequest]) (*connect.Response[vpnv1.FlowsResponse], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := &vpnv1.FlowsResponse{Mode: "edt", Vpns: a.vpns, Version: a.has.GetVersion()}
	for _, f := range a.flows {
		out.Flows = append(out.Flows, proto.CloneOf(f))
	}
	return connect.NewResponse(out), nil
}

func (a *agent) Install(_ context.Context, r *connect.Request[vpnv1.InstallRequest]) (*connect.Response[vpnv1.InstallResponse], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuses != nil {
		return nil, connect.NewError(connect.CodeInternal, a.refuses)
	}
	a.has = r.Msg
	a.installs++
	return connect.NewResponse(&vpnv1.InstallResponse{Version: r.Msg.GetVersion()}), nil
}

func (a *agent) weights() map[string]float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]float64{}
	for _, w := range a.has.GetWeights() {
		out[w.GetVpn()] = w.GetWeight()
	}
	return out
}

// change does something to it while it answers.
func (a *agent) change(do func(*agent)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do(a)
}

func (a *agent) up(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", a.address)
	if err != nil {
		t.Fatal(err)
	}
	a.address = l.Addr().String()
	mux := http.NewServeMux()
	mux.Handle(vpnv1connect.NewVpnServiceHandler(a, rpc.Bounded(rpc.MaxRequest)))
	mux.Handle(vpnv1connect.NewVpnAgentServiceHandler(a, rpc.Bounded(rpc.MaxRequest)))
	a.server = &http.Server{Handler: mux, TLSConfig: a.tls}
	go a.server.ServeTLS(l, "", "") //nolint:errcheck // ends with down
}

func (a *agent) down(t *testing.T) {
	t.Helper()
	if err := a.server.Close(); err != nil {
		t.Fatal(err)
	}
}

// world is two PEs and what the service needs beside them.
type world struct {
	t      *testing.T
	agents []*agent
	dir    string
	deps   Dependencies
	paths  *paths
	said   *told
}

// paths is a topology of one link in each direction between each two PEs, as services/paths returns it.
type paths struct {
	pathsv1connect.UnimplementedPathsServiceHandler
	mu    sync.Mutex
	rate  map[string]uint64       // bit/s by "from to"
	fails map[string]connect.Code // of paths by "from to"
}

func (p *paths) Topology(context.Context, *connect.Request[pathsv1.TopologyRequest]) (*connect.Response[pathsv1.TopologyResponse], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &topologyv1.TopologySnapshot{}
	for id, rate := range p.rate {
		s.Links = append(s.Links, &topologyv1.Link{Id: id, MaxBandwidth: rate})
	}
	return connect.NewResponse(&pathsv1.TopologyResponse{Snapshot: s}), nil
}

func (p *paths) Ecmp(_ context.Context, r *connect.Request[pathsv1.EcmpRequest]) (*connect.Response[pathsv1.EcmpResponse], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if code, fails := p.fails[r.Msg.GetFrom()+" "+r.Msg.GetTo()]; fails {
		return nil, connect.NewError(code, errors.New("as the test says"))
	}
	return connect.NewResponse(&pathsv1.EcmpResponse{Paths: []*pathsv1.Path{{Links: []string{r.Msg.GetFrom() + " " + r.Msg.GetTo()}}}}), nil
}

// told records events by code.
type told struct {
	mu  sync.Mutex
	all []*eventv1.Event
}

func (e *told) take(_ context.Context, m bus.Message) error {
	one := &eventv1.Event{}
	if err := proto.Unmarshal(m.Value, one); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, one)
	return nil
}

// of returns the texts of a code.
func (e *told) of(code string) (out []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.all {
		if one.GetCode() == code {
			out = append(out, one.GetText())
		}
	}
	return out
}

func flow(vpn string, from, to int, weight, bits float64) *vpnv1.Flow {
	return &vpnv1.Flow{Vpn: vpn, Ingress: fmt.Sprintf("10.255.0.%d", from), Egress: fmt.Sprintf("10.255.0.%d", to), Weight: weight, Throughput: bits, Phase: "congestion-avoidance", B: 0.1}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), paths: &paths{rate: map[string]uint64{}}, said: &told{}}
	ca := pki.New(t)
	inventory := &device.Inventory{}
	for i := 1; i <= 2; i++ {
		cert, err := tls.LoadX509KeyPair(ca.Issue(t, fmt.Sprint("pe", i), "127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		a := &agent{address: ports.Loopback(t), vpns: []string{"red", "blue"}, flows: []*vpnv1.Flow{flow("red", i, 3-i, 1, 10e6), flow("blue", i, 3-i, 1, 30e6)}}
		a.tls = &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool()}
		a.up(t)
		t.Cleanup(func() { _ = a.server.Close() })
		w.agents = append(w.agents, a)
		inventory.Devices = append(inventory.Devices, device.Device{Name: fmt.Sprint("pe", i), PE: a.address})
	}
	inventory.Devices = append(inventory.Devices, device.Device{Name: "p"})
	cert, err := tls.LoadX509KeyPair(ca.Issue(t, "controller"))
	if err != nil {
		t.Fatal(err)
	}
	etcd := state.NewEmbedded(t.TempDir(), state.UnsafeNoFsync)
	if err := etcd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Stop(context.Background()) })
	b := bus.NewMemory()
	t.Cleanup(func() { _ = b.Close() })
	if err := b.Subscribe(t.Context(), bus.TopicEvents, "test", w.said.take); err != nil {
		t.Fatal(err)
	}
	_, h := pathsv1connect.NewPathsServiceHandler(w.paths, rpc.Bounded(rpc.MaxRequest))
	local := rpc.NewLocal(h)
	t.Cleanup(func() { _ = local.Close() })
	w.deps = Dependencies{
		Inventory: inventory, TLS: &tls.Config{RootCAs: pool(ca), Certificates: []tls.Certificate{cert}}, State: etcd.Store(), Bus: b,
		Paths: pathsv1connect.NewPathsServiceClient(local.Client(), rpc.LocalURL), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	return w
}

func pool(ca *pki.Authority) *x509.CertPool { return ca.Pool() }

// policy writes a file of the policy folder.
func (w *world) policy(file, text string) {
	w.t.Helper()
	wholefile.Write(w.t, filepath.Join(w.dir, file), text)
}

// service is one running VPN service and a client of its API.
type service struct {
	vpnv1connect.VpnServiceClient
	t       *testing.T
	comp    *Component
	metrics *prometheus.Registry
}

// start runs the service; change may be nil.
func (w *world) start(change func(*Configuration)) *service {
	w.t.Helper()
	cfg := DefaultConfiguration()
	cfg.Interval, cfg.Routes, cfg.Settle = 100*time.Millisecond, 100*time.Millisecond, 20*time.Second
	if change != nil {
		change(&cfg)
	}
	deps := w.deps
	s := &service{t: w.t, metrics: prometheus.NewRegistry()}
	deps.Registerer = s.metrics
	c, err := New(cfg, deps)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	_, h := c.Handler()
	local := rpc.NewLocal(h)
	s.comp, s.VpnServiceClient = c, vpnv1connect.NewVpnServiceClient(local.Client(), rpc.LocalURL)
	w.t.Cleanup(func() {
		_ = local.Close()
		s.stop()
	})
	return s
}

func (w *world) following(policy string) func(*Configuration) {
	return func(c *Configuration) { c.Dir, c.Policy = w.dir, policy }
}

func (s *service) stop() {
	if err := s.comp.Stop(context.Background()); err != nil {
		s.t.Error(err)
	}
}

func (s *service) weights() *vpnv1.WeightsResponse {
	s.t.Helper()
	r, err := s.Weights(s.t.Context(), connect.NewRequest(&vpnv1.WeightsRequest{}))
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Msg
}

// set changes one weight and fails the test where that fails.
func (s *service) set(vpn string, weight float64) *vpnv1.SetWeightsResponse {
	s.t.Helper()
	r, err := s.SetWeights(s.t.Context(), connect.NewRequest(&vpnv1.SetWeightsRequest{
		By: "anna", Reason: "a test", Weights: []*vpnv1.Weight{{Vpn: vpn, Weight: weight}},
	}))
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Msg
}

// until gives something time to come about, and fails with what was there instead.
func until(t *testing.T, what string, ask func() (bool, any)) {
	t.Helper()
	for end := time.Now().Add(await.Patience); ; time.Sleep(10 * time.Millisecond) {
		ok, state := ask()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not yet: %s; last: %v", what, state)
		}
	}
}

// all wait until every PE has answered and has the version in force.
func (s *service) all(version uint64) {
	s.t.Helper()
	until(s.t, fmt.Sprintf("all have version %d", version), func() (bool, any) {
		r := s.weights()
		for _, p := range r.GetPes() {
			if !p.GetCurrent() {
				return false, r
			}
		}
		return r.GetVersion().GetNumber() == version, r
	})
}

func (w *world) tells(code, part string) {
	w.t.Helper()
	until(w.t, code+": "+part, func() (bool, any) {
		all := w.said.of(code)
		for _, text := range all {
			if strings.Contains(text, part) {
				return true, nil
			}
		}
		return false, all
	})
}

package push

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/policies"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	render "github.com/millrace/millrace/services/policy/render/openconfig"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/driver/openconfig"
	"github.com/millrace/millrace/services/push/pushtest"
	"github.com/millrace/millrace/services/routeragent"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// realRouter is the router agent itself, on a kernel: gNMI, journal, HTB, eBPF, rules.
type realRouter struct {
	t      *testing.T
	kernel *labtest.Router
	cfg    routeragent.Configuration
	lsps   *plainLSPs
	addr   string
	agent  *routeragent.Agent
}

func (r *realRouter) start() {
	r.t.Helper()
	l, err := net.Listen("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.addr = l.Addr().String()
	r.agent, err = routeragent.New(r.cfg, routeragent.Dependencies{
		Log: slog.New(slog.DiscardHandler), Namespace: &r.kernel.NS, Listener: l, LSPs: r.lsps,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.agent.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *realRouter) stop() {
	if err := r.agent.Stop(context.Background()); err != nil {
		r.t.Error(err)
	}
}

// plainLSPs stands for FRR where the kernel has no MPLS: an LSP's table gets a plain default route.
type plainLSPs struct {
	mu     sync.Mutex
	router *labtest.Router
	have   map[int]bool
}

func (l *plainLSPs) Ensure(_ context.Context, tunnels []intent.Tunnel) (map[string][]uint32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	labels := map[string][]uint32{}
	for _, t := range tunnels {
		labels[t.Name] = nil
		if !l.have[t.ID] {
			l.router.In("ip", "route", "add", "default", "via", "10.0.2.2", "table", fmt.Sprint(20000+t.ID), "proto", "static")
			l.have[t.ID] = true
		}
	}
	return labels, nil
}

func (l *plainLSPs) Prune(_ context.Context, tunnels []intent.Tunnel, _ map[string][]uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep := map[int]bool{}
	for _, t := range tunnels {
		keep[t.ID] = true
	}
	for id := range l.have {
		if !keep[id] {
			l.router.In("ip", "route", "del", "default", "table", fmt.Sprint(20000+id))
			delete(l.have, id)
		}
	}
	return nil
}

func (l *plainLSPs) Verify(context.Context, []intent.Tunnel, map[string][]uint32) error { return nil }

func (l *plainLSPs) Renew(context.Context, intent.Tunnel) error { return nil }

// realPlan is compiled for the ports labtest gives its router: customers behind ge-a, the core behind ge-b.
func realPlan(t *testing.T) *policyv1.RouterPlan {
	t.Helper()
	text, err := policies.Files.ReadFile("hntes-two-queue.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, problems := document.Parse("hntes-two-queue.yaml", string(text))
	if err := document.Join(problems); err != nil {
		t.Fatal(err)
	}
	demand := compile.Demand{From: "r1", To: "r2", LSP: *p.Redirect[0].LSP}
	result, err := compile.Compile(compile.Input{
		Policy: *p,
		Routers: []compile.Router{{Name: "r1", Managed: true, Loopback: netip.MustParseAddr("10.255.0.1"), Interfaces: []compile.Interface{
			{Name: "ge-a", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.1.1/24")}, Speed: 100 * units.Rate(1e6)},
			{Name: "ge-b", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.2.1/24")}, Speed: 100 * units.Rate(1e6)},
		}}, {Name: "r2"}},
		Links: []compile.Link{{ID: "r1-r2", From: "r1", To: "r2", Egress: "ge-b", Bandwidth: 100 * units.Rate(1e6)}},
		Pairs: []compile.Pair{{ID: "p-real", Src: netip.MustParsePrefix("10.0.1.0/24"), Dst: netip.MustParsePrefix("198.51.100.0/24"), Ingress: "r1", Egress: "r2"}},
		Paths: map[compile.Demand]compile.Path{demand: {Nodes: []string{"r1", "r2"}, Links: []string{"r1-r2"}, Segments: []netip.Addr{netip.MustParseAddr("10.255.0.2")}, Bottleneck: 100 * units.Rate(1e6)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := render.Entries(result.Plans[0])
	if err != nil {
		t.Fatal(err)
	}
	plan := &policyv1.RouterPlan{Router: "r1", Lsps: []*policyv1.Lsp{{Name: result.Plans[0].LSPs[0].Name}}}
	for _, u := range list {
		plan.Entries = append(plan.Entries, &policyv1.ConfigEntry{Path: u.Path, Encoding: policyv1.Encoding_ENCODING_JSON_IETF, Body: u.Body})
	}
	return plan
}

func newRealWorld(t *testing.T) (*world, *realRouter) {
	t.Helper()
	authority := pki.New(t)
	cert, key := authority.Issue(t, "router", "127.0.0.1")
	kernel := labtest.NewRouter(t)
	line := routeragent.Interface{Speed: 100e6, Buffer: 1250000}
	r := &realRouter{t: t, kernel: kernel, addr: ports.Loopback(t), lsps: &plainLSPs{router: kernel, have: map[int]bool{}}, cfg: routeragent.Configuration{
		Name: "r1", DataDir: t.TempDir(), FRRInstance: "none",
		TLS:        routeragent.TLS{Cert: cert, Key: key, CA: authority.CA},
		Roles:      map[string]routeragent.Role{"operator": routeragent.RoleOperator},
		Interfaces: map[string]routeragent.Interface{"ge-a": line, "ge-b": line},
	}}
	r.start()
	t.Cleanup(r.stop)
	creds := authority.Client(t, "operator")
	return worldAround(t, r, creds), r
}

func worldAround(t *testing.T, r *realRouter, creds *tls.Config) *world {
	t.Helper()
	w := &world{t: t, routers: map[string]*pushtest.Router{}, plans: &plans{full: []*policyv1.RouterPlan{realPlan(t)}}, cfg: DefaultConfiguration()}
	b := bus.NewMemory()
	mux := http.NewServeMux()
	mux.Handle(policyv1connect.NewPolicyServiceHandler(w.plans, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { local.Close(); b.Close() })
	w.deps = Dependencies{
		Inventory: &device.Inventory{Devices: []device.Device{{Name: "r1", Address: r.addr}}},
		State:     storeOf(t), Bus: b, Log: slog.New(slog.DiscardHandler),
		Policy:  policyv1connect.NewPolicyServiceClient(local.Client(), rpc.LocalURL),
		Vendors: driver.Vendors{device.OSMillrace: {Encoding: configentry.JSONIETF, Opener: openconfig.Opener{Credentials: creds}}},
	}
	w.start()
	t.Cleanup(w.stop)
	return w
}

// On the real agent: the kernel is configured as planned, a second comparison finds no difference, and a
// rollback restores the kernel's earlier state.
func TestChangeSetOnARealRouterAndBack(t *testing.T) {
	w, r := newRealWorld(t)
	before := r.kernel.Dump()
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	dump := r.kernel.Dump()
	for _, want := range []string{"dev ge-b root", "rate 95Mbit ceil 100Mbit", "limit 1187500b", "limit 62500b", "lookup 20001"} {
		if !strings.Contains(dump, want) {
			t.Errorf("the kernel lacks %q:\n%s", want, dump)
		}
	}
	must(t, w.command([]string{"create", "day-2"}), "empty")
	must(t, w.command([]string{"use", "day-1"}), "")
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	if diff := cmp.Diff(r.kernel.Dump(), before); diff != "" {
		t.Errorf("kernel after the rollback (-got +before):\n%s", diff)
	}
}

// killer kills the agent at the first confirmation, before it arrives.
type killer struct {
	driver.Opener
	kill func()
}

func (k killer) Open(ctx context.Context, d device.Device) (driver.Driver, error) {
	open, err := k.Opener.Open(ctx, d)
	return dying{open, k.kill}, err
}

type dying struct {
	driver.Driver
	kill func()
}

func (d dying) Confirm(ctx context.Context, as driver.Master, id string) error {
	d.kill()
	return d.Driver.Confirm(ctx, as, id)
}

// killAtConfirm applies the plan to a router whose agent is killed once every check has passed.
func killAtConfirm(t *testing.T) (w *world, r *realRouter, before string) {
	t.Helper()
	w, r = newRealWorld(t)
	before = r.kernel.Dump()
	dead := make(chan struct{})
	kill := sync.OnceFunc(func() { r.stop(); close(dead) })
	opener := w.deps.Vendors[device.OSMillrace].Opener
	w.push.deps.Vendors = driver.Vendors{device.OSMillrace: {Encoding: configentry.JSONIETF, Opener: killer{opener, kill}}}
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	<-dead
	return w, r, before
}

// An agent that comes back with a commit pending restores the configuration before it (gnmi.md section 4.2,
// check 33): record and kernel agree.
func TestARealAgentKilledBetweenApplyAndConfirm(t *testing.T) {
	w, r, before := killAtConfirm(t)
	r.start()
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	if diff := cmp.Diff(r.kernel.Dump(), before); diff != "" {
		t.Errorf("kernel (-got +before):\n%s", diff)
	}
}

func must(t *testing.T, got, state string) {
	t.Helper()
	if state != "" && !strings.Contains(strings.SplitN(got, "\n", 2)[0], state) || state == "" && got != "" {
		t.Fatalf("got %s, want %q", got, state)
	}
}

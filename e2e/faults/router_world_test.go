package faults

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/rpc"
	keys "github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/policies"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	render "github.com/millrace/millrace/services/policy/render/openconfig"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/driver/openconfig"
	"github.com/millrace/millrace/services/push/pushtest"
)

// realRouter is R1 of a lab: a kernel with MPLS, FRR and the router agent, all as they are on a router. The push
// service is in the test's process, with an etcd of its own.
type realRouter struct {
	lab  *lab.Lab
	gate *gate
	push pushv1connect.ChangeServiceClient
}

func newRealRouter(t *testing.T) *realRouter {
	t.Helper()
	s, err := scenario.Load("testdata/line.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := &realRouter{gate: &gate{holds: map[pushtest.Moment]*hold{}}}
	name := fmt.Sprintf("faults-%d", os.Getpid())
	if r.lab, err = lab.Up(t.Context(), s, lab.Options{Name: name, Backend: lab.UML, Output: t.TempDir(), Binary: program.Path}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.lab.Down(); err != nil {
			t.Error(err)
		}
	})
	r.serve(t)
	return r
}

// serve starts the push service, which knows R1 alone.
func (r *realRouter) serve(t *testing.T) {
	t.Helper()
	inventory, err := device.Load(r.lab.Inventory())
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := inventory.ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	inventory.Devices = inventory.Devices[:1]
	etcd := keys.NewEmbedded(t.TempDir(), keys.UnsafeNoFsync)
	if err := etcd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	messages, mux := bus.NewMemory(), http.NewServeMux()
	mux.Handle(policyv1connect.NewPolicyServiceHandler(&planner{plan: lspPlan(t)}, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(mux)
	p, err := push.New(push.DefaultConfiguration(), push.Dependencies{
		Inventory: inventory, State: etcd.Store(), Bus: messages, Log: slog.New(slog.DiscardHandler),
		Policy: policyv1connect.NewPolicyServiceClient(local.Client(), rpc.LocalURL),
		Vendors: driver.Vendors{device.OSMillrace: {
			Encoding: configentry.JSONIETF, Opener: gated{openconfig.Opener{Credentials: credentials, Dialer: r.lab.Dial}, r.gate},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	changes := http.NewServeMux()
	changes.Handle(p.Handler())
	server := rpc.NewLocal(changes)
	r.push = pushv1connect.NewChangeServiceClient(server.Client(), rpc.LocalURL)
	t.Cleanup(func() {
		_ = p.Stop(context.Background()) // returns nil
		server.Close()
		local.Close()
		messages.Close()
		if err := etcd.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// planner has one plan, whatever is asked.
type planner struct {
	policyv1connect.UnimplementedPolicyServiceHandler
	plan *policyv1.RouterPlan
}

// Plan implements PolicyService.
func (p *planner) Plan(context.Context, *connect.Request[policyv1.PlanRequest]) (*connect.Response[policyv1.PlanResponse], error) {
	return connect.NewResponse(&policyv1.PlanResponse{Plans: []*policyv1.RouterPlan{p.plan}}), nil
}

// Circuits implements PolicyService.
func (p *planner) Circuits(context.Context, *connect.Request[policyv1.CircuitsRequest]) (*connect.Response[policyv1.CircuitsResponse], error) {
	return connect.NewResponse(&policyv1.CircuitsResponse{}), nil
}

// lspPlan is R1's of paper 002's policy: an LSP to R3 over R2, a rule that leads a pair into it, and two queues.
func lspPlan(t *testing.T) *policyv1.RouterPlan {
	t.Helper()
	text, err := policies.Files.ReadFile("hntes-two-queue.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, problems := document.Parse("hntes-two-queue.yaml", string(text))
	if err := document.Join(problems); err != nil {
		t.Fatal(err)
	}
	core, access := 50*units.Rate(1e6), 100*units.Rate(1e6)
	loopback := func(n byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 255, 0, n}) }
	result, err := compile.Compile(compile.Input{
		Policy: *p,
		Routers: []compile.Router{{Name: "R1", Managed: true, Loopback: loopback(1), Interfaces: []compile.Interface{
			{Name: "ge-h", Addresses: []netip.Prefix{netip.MustParsePrefix("10.1.1.1/24")}, Speed: access},
			{Name: "ge-2", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/30")}, Speed: core},
		}}, {Name: "R2"}, {Name: "R3", Loopback: loopback(3)}},
		Links: []compile.Link{{ID: "R1-R2", From: "R1", To: "R2", Egress: "ge-2", Bandwidth: core}, {ID: "R2-R3", From: "R2", To: "R3", Egress: "ge-3", Bandwidth: core}},
		Pairs: []compile.Pair{{ID: "p-real", Src: netip.MustParsePrefix("10.1.1.0/24"), Dst: netip.MustParsePrefix("10.3.1.0/24"), Ingress: "R1", Egress: "R3"}},
		Paths: map[compile.Demand]compile.Path{{From: "R1", To: "R3", LSP: *p.Redirect[0].LSP}: {
			Nodes: []string{"R1", "R2", "R3"}, Links: []string{"R1-R2", "R2-R3"}, Segments: []netip.Addr{loopback(3)}, Bottleneck: core,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan := &policyv1.RouterPlan{Router: "R1", Lsps: []*policyv1.Lsp{{Name: result.Plans[0].LSPs[0].Name}}}
	list, err := render.Entries(result.Plans[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list {
		plan.Entries = append(plan.Entries, &policyv1.ConfigEntry{Path: u.Path, Encoding: policyv1.Encoding_ENCODING_JSON_IETF, Body: u.Body})
	}
	return plan
}

// run runs a program on R1.
func (r *realRouter) run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := r.lab.Capture(t.Context(), "R1", argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// holds looks at the kernel and at FRR: a route with a label in an LSP's table, the rule that leads there, the LSP's
// policy, and the two queues.
func (r *realRouter) holds(t *testing.T) (plane.State, string) {
	t.Helper()
	seen := r.run(t, "sh", "-c", `ip -4 route show table all | grep 'table 2[0-9][0-9][0-9][0-9]'; ip rule; tc qdisc show dev ge-2`)
	running, err := r.lab.Capture(t.Context(), "R1", "vtysh", "-N", "R1", "-c", "show running-config")
	if err != nil {
		return plane.Neither, err.Error() // a daemon is away
	}
	text, parts := seen+running, 0
	for _, has := range []bool{
		strings.Contains(seen, "encap mpls  16003"), strings.Contains(seen, "lookup 2"),
		strings.Contains(running, "name te-"), strings.Contains(seen, "htb"),
	} {
		if has {
			parts++
		}
	}
	switch parts {
	case 0:
		return plane.Before, text
	case 4:
		return plane.After, text
	}
	return plane.Neither, text
}

// gate holds the push service at a moment of its talk with the router.
type gate struct {
	mu    sync.Mutex
	holds map[pushtest.Moment]*hold
}

type hold struct{ reached, released chan struct{} }

// at waits where the test holds it.
func (g *gate) at(m pushtest.Moment) {
	g.mu.Lock()
	h := g.holds[m]
	delete(g.holds, m)
	g.mu.Unlock()
	if h != nil {
		close(h.reached)
		<-h.released
	}
}

// holdAt holds the next such moment, until it is released.
func (g *gate) holdAt(t *testing.T, m pushtest.Moment) (h *hold, release func()) {
	h = &hold{make(chan struct{}), make(chan struct{})}
	g.mu.Lock()
	g.holds[m] = h
	g.mu.Unlock()
	release = sync.OnceFunc(func() { close(h.released) })
	t.Cleanup(release)
	return h, release
}

// gated opens routers whose moments can be held.
type gated struct {
	driver.Opener
	gate *gate
}

func (o gated) Open(ctx context.Context, d device.Device) (driver.Driver, error) {
	open, err := o.Opener.Open(ctx, d)
	return gatedRouter{open, o.gate}, err
}

type gatedRouter struct {
	driver.Driver
	gate *gate
}

func (r gatedRouter) Commit(ctx context.Context, as driver.Master, c driver.Commit) error {
	r.gate.at(pushtest.BeforeCommit)
	return r.Driver.Commit(ctx, as, c)
}

func (r gatedRouter) Verify(ctx context.Context, intended map[string]string) ([]driver.Check, error) {
	r.gate.at(pushtest.Verifying)
	return r.Driver.Verify(ctx, intended)
}

func (r gatedRouter) Confirm(ctx context.Context, as driver.Master, id string) error {
	r.gate.at(pushtest.BeforeConfirm)
	return r.Driver.Confirm(ctx, as, id)
}

package push

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/driver/junos"
	"github.com/millrace/millrace/services/push/driver/junos/junostest"
	"github.com/millrace/millrace/services/push/driver/openconfig"
	"github.com/millrace/millrace/services/push/pushtest"
)

// etcd is one embedded server for all tests of the package; each test has a prefix in it. It starts with the first
// test and not before: with -json, testing.M.Run exchanges os.Stderr, which etcd's goroutines read.
var etcd = sync.OnceValue(func() *state.Embedded {
	dir, err := os.MkdirTemp("", "millrace-push")
	if err != nil {
		panic(err)
	}
	server := state.NewEmbedded(dir)
	if err := server.Start(context.Background()); err != nil {
		panic(err)
	}
	stopEtcd = func() {
		server.Stop(context.Background()) //nolint:errcheck // the process ends
		os.RemoveAll(dir)
	}
	return server
})

var stopEtcd = func() {}

func TestMain(m *testing.M) {
	flag.Parse()
	// Lives are mostly waiting.
	if err := flag.Set("test.parallel", "10"); err != nil {
		panic(err)
	}
	code := m.Run()
	stopEtcd()
	os.Exit(code)
}

// plans answers with the golden plans of policies/golden/hntes-redirect, as the real policy service compiles them.
type plans struct {
	policyv1connect.UnimplementedPolicyServiceHandler
	mu   sync.Mutex
	mode string
	full []*policyv1.RouterPlan
	// circuits are in the plans, refused are not.
	circuits []string
	refused  []*policyv1.RefusedCircuit
	// splits are those of the last request; refusedSplits is what is answered of them.
	splits        []*policyv1.PortSplit
	refusedSplits []*policyv1.RefusedSplit
	// away: the list of circuits in force is unavailable.
	away bool
	// hangs: that list is never answered.
	hangs bool
	// left is how often Circuits answers before all of them end; nil: always.
	left *int
}

func (p *plans) set(mode string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
}

func (p *plans) Plan(ctx context.Context, req *connect.Request[policyv1.PlanRequest]) (*connect.Response[policyv1.PlanResponse], error) {
	p.mu.Lock()
	mode := p.mode
	p.splits = req.Msg.GetSplits()
	out := &policyv1.PlanResponse{Circuits: p.circuits, RefusedCircuits: p.refused, RefusedSplits: p.refusedSplits}
	p.mu.Unlock()
	switch mode {
	case "broken":
		return nil, connect.NewError(connect.CodeFailedPrecondition, errors.New("hntes-two-queue.yaml:5:13: the weights add up to 105 %, over 100; lower the weights until they add up to 100"))
	case "hanging":
		<-ctx.Done()
		return nil, ctx.Err()
	case "none":
	case "wr-absent": // the topology lacks wr for the moment
		out.Plans, out.Absent = p.full[:2], []string{"wr"}
	case "er-absent": // where all pairs end, so no other router gets anything
		out.Absent = []string{"er"}
		for _, name := range pairsOfPlans {
			out.Skipped = append(out.Skipped, &policyv1.SkippedPair{Pair: name, Reason: "no router originates 198.51.100.0/24"})
		}
	case "skipping":
		out.Plans, out.Skipped = p.full, skipped()
	case "huge":
		out.Plans = []*policyv1.RouterPlan{huge()}
	case "with-circuit", "with-circuit-and-heavier":
		out.Plans = append(out.Plans, p.full[0], p.full[1], withCircuit(p.full[2]))
		if mode == "with-circuit-and-heavier" {
			out.Plans[2] = heavier(out.Plans[2])
			out.Plans[2].Queues = []*policyv1.Queue{{Name: "alpha", Weight: 96}}
		}
	case "split": // another share on a port of wr
		out.Plans = append(out.Plans, p.full[0], p.full[1], withSplit(p.full[2]))
	case "heavier": // another weight on wr alone
		out.Plans = append(out.Plans, p.full[0], p.full[1], heavier(p.full[2]))
	default:
		out.Plans = p.full
		out.Skipped = []*policyv1.SkippedPair{{Pair: "p-lost", Reason: "no router originates 203.0.113.0/24"}}
	}
	return connect.NewResponse(out), nil
}

// Circuits lists those that were planned last as in force, as if they were.
func (p *plans) Circuits(ctx context.Context, _ *connect.Request[policyv1.CircuitsRequest]) (*connect.Response[policyv1.CircuitsResponse], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if p.away {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("nobody knows which circuits are in force"))
	}
	if p.left != nil {
		if *p.left == 0 {
			p.circuits = nil
		}
		*p.left--
	}
	return connect.NewResponse(&policyv1.CircuitsResponse{Circuits: p.circuits}), nil
}

func (p *plans) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangs = true
}

// huge is what some thousand pairs make of a router.
func huge() *policyv1.RouterPlan {
	out := &policyv1.RouterPlan{Router: "wr"}
	for i := range 12000 {
		name := fmt.Sprintf("te-src-p%d", i)
		out.Entries = append(out.Entries, &policyv1.ConfigEntry{Path: configentry.PrefixSet.Path(name), Encoding: policyv1.Encoding_ENCODING_JSON_IETF, Body: "{\n  \"name\": \"" + name + "\"\n}"})
	}
	return out
}

func heavier(p *policyv1.RouterPlan) *policyv1.RouterPlan {
	out := &policyv1.RouterPlan{Router: p.GetRouter(), Lsps: p.GetLsps()}
	for _, u := range p.GetEntries() {
		out.Entries = append(out.Entries, &policyv1.ConfigEntry{Path: u.GetPath(), Encoding: u.GetEncoding(), Body: strings.ReplaceAll(strings.ReplaceAll(u.GetBody(), `"95"`, `"96"`), `"5"`, `"4"`)})
	}
	return out
}

// pairsOfPlans are the pairs of the golden plans.
var pairsOfPlans = []string{"p-w-e", "p-w1-e1"}

func goldenPlans(t *testing.T, onJunos ...string) []*policyv1.RouterPlan {
	t.Helper()
	var out []*policyv1.RouterPlan
	for _, name := range []string{"cr", "er", "wr"} {
		raw, err := os.ReadFile(filepath.Join("../../policies/golden/hntes-redirect", name+".entries"))
		if err != nil {
			t.Fatal(err)
		}
		plan := &policyv1.RouterPlan{Router: name}
		for _, pair := range pairsOfPlans {
			plan.Rules = append(plan.Rules, &policyv1.RedirectRule{Pair: pair})
		}
		for _, block := range strings.Split(strings.TrimSpace(string(raw)), "\n\n") {
			path, body, _ := strings.Cut(block, "\n")
			plan.Entries = append(plan.Entries, &policyv1.ConfigEntry{Path: path, Encoding: policyv1.Encoding_ENCODING_JSON_IETF, Body: body})
			if kind, _, key, _ := configentry.Of(path); kind == configentry.Tunnel {
				plan.Lsps = append(plan.Lsps, &policyv1.Lsp{Name: key})
			}
		}
		if slices.Contains(onJunos, name) {
			raw, err := os.ReadFile(filepath.Join("../../policies/golden/hntes-redirect", name+".junos"))
			if err != nil {
				t.Fatal(err)
			}
			plan.Entries = []*policyv1.ConfigEntry{{Path: junosconf.EntryPath, Encoding: policyv1.Encoding_ENCODING_JUNOS_TEXT, Body: string(raw)}}
		}
		out = append(out, plan)
	}
	return out
}

// world is a control plane and three routers.
type world struct {
	t       *testing.T
	cfg     Configuration
	routers map[string]*pushtest.Router
	// junos are the routers that run Junos instead.
	junos  map[string]*junostest.Router
	plans  *plans
	deps   Dependencies
	push   *Component
	server *rpc.Local
	api    pushv1connect.ChangeServiceClient
	// id is the change set commands are about.
	id string
	// began and passed are the clock of roll-backs: it stands still but for the command "expire".
	began  time.Time
	passed atomic.Int64
	// running ends with the control plane.
	running context.Context
	crash   context.CancelFunc
}

// now is Component.now.
func (w *world) now() time.Time { return w.began.Add(time.Duration(w.passed.Load())) }

func newWorld(t *testing.T, onJunos ...string) *world {
	t.Helper()
	// Nothing waits for RollbackAfter, CommitTimeout or LockTTL: transcripts contain the moments when they
	// pass. CallTimeout is how long a router that is down is polled for the outcome of its commit,
	// VerifyFor how long an LSP may stay down; at CommitRate the plan of 12,000 entries has some minutes
	// more.
	w := &world{t: t, began: time.Now(), routers: map[string]*pushtest.Router{}, junos: map[string]*junostest.Router{}, plans: &plans{full: goldenPlans(t, onJunos...)}, cfg: Configuration{
		RollbackAfter: 10 * time.Minute, VerifyFor: time.Second, CallTimeout: 10 * time.Second, CommitTimeout: 10 * time.Minute, CommitRate: 10_000, PredictTimeout: 10 * time.Minute, LockTTL: 10 * time.Minute,
	}}
	certs := gnmitest.NewCerts(t)
	inv := &device.Inventory{}
	for _, name := range []string{"wr", "er", "cr"} {
		if slices.Contains(onJunos, name) {
			w.junos[name] = junostest.Start(t, name, certs)
			inv.Devices = append(inv.Devices, w.junos[name].Device)
			continue
		}
		w.routers[name] = pushtest.Start(t, name, certs)
		inv.Devices = append(inv.Devices, w.routers[name].Device)
	}
	b := bus.NewMemory()
	mux := http.NewServeMux()
	mux.Handle(policyv1connect.NewPolicyServiceHandler(w.plans, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { local.Close(); b.Close() })
	w.deps = Dependencies{
		Inventory: inv, State: storeOf(t), Bus: b, Log: slog.New(slog.DiscardHandler),
		Policy: policyv1connect.NewPolicyServiceClient(local.Client(), rpc.LocalURL),
		Vendors: driver.Vendors{
			device.OSMillrace: {Encoding: configentry.JSONIETF, Opener: openconfig.Opener{Credentials: certs.Client}},
			device.OSJunos:    {Encoding: configentry.JunosText, Opener: junos.Opener{Credentials: certs.Client, Profile: junos.Junos244}},
		},
	}
	w.start()
	t.Cleanup(w.stop)
	return w
}

// worlds numbers prefixes, for tests that run more than once.
var worlds atomic.Int32

func storeOf(t *testing.T) *state.Store {
	t.Helper()
	return etcd().Store().Within(fmt.Sprintf("%s/%d/", t.Name(), worlds.Add(1)))
}

func (w *world) start() {
	w.t.Helper()
	var err error
	if w.push, err = New(w.cfg, w.deps); err != nil {
		w.t.Fatal(err)
	}
	if !w.began.IsZero() {
		w.push.now = w.now
	}
	w.running, w.crash = context.WithCancel(w.t.Context())
	if err := w.push.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(w.push.Handler())
	w.server = rpc.NewLocal(mux)
	w.api = pushv1connect.NewChangeServiceClient(w.server.Client(), rpc.LocalURL)
}

// stop ends the control plane where it is: nothing is written after it, as after a crash.
func (w *world) stop() {
	w.crash()
	w.push.Stop(context.Background()) //nolint:errcheck // it returns nil
	w.server.Close()
}

func (w *world) get() *pushv1.ChangeSet {
	w.t.Helper()
	r, err := w.api.Get(w.t.Context(), connect.NewRequest(&pushv1.GetRequest{Id: w.id}))
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Msg.GetChange()
}

// record is the change set without its plans, also while nothing serves the API.
func (w *world) record() *pushv1.ChangeSet {
	w.t.Helper()
	cs := &pushv1.ChangeSet{}
	if _, err := w.deps.State.Get(w.t.Context(), recordPrefix+w.id, cs); err != nil {
		w.t.Fatal(err)
	}
	return cs
}

func (w *world) await(what string, until func(*pushv1.ChangeSet) bool) {
	w.t.Helper()
	await.True(w.t, what, func() bool { return until(w.record()) })
}

// expire is the moment after the last router has rolled back by itself.
func (w *world) expire() {
	for _, r := range w.routers {
		r.Expire()
	}
	for _, r := range w.junos {
		r.Expire()
	}
	for _, d := range w.record().GetDevices() {
		late := d.GetRollbackAt().AsTime().Sub(w.began) + time.Second
		w.passed.Store(max(w.passed.Load(), int64(late)))
	}
}

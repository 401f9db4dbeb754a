package policy

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/topo"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/services/paths"
	"github.com/millrace/millrace/services/policy/policytest"
)

// fixedPairs is a store with these pairs: detection has its own tests.
type fixedPairs struct {
	alphav1connect.UnimplementedAlphaServiceHandler
	pairs []*alphav1.Pair
}

func (f fixedPairs) List(context.Context, *connect.Request[alphav1.ListRequest]) (*connect.Response[alphav1.ListResponse], error) {
	return connect.NewResponse(&alphav1.ListResponse{Pairs: f.pairs}), nil
}

// goldenSnapshot is the network of golden/hntes-redirect as the routers advertise it.
func goldenSnapshot(t *testing.T) (topo.Snapshot, *device.Inventory) {
	t.Helper()
	in := policytest.Read(t, "hntes-redirect")
	s := topo.Snapshot{Area: "0.0.0.0", Source: "wr", Time: time.Unix(1700000000, 0).UTC()}
	inv := &device.Inventory{}
	byName, addresses := map[string]netip.Addr{}, map[string]netip.Addr{}
	for i, r := range in.Routers {
		n := topo.Node{ID: r.Loopback, Name: r.Name, Loopback: r.Loopback, SIDLabel: 16000 + uint32(i)}
		byName[r.Name] = r.Loopback
		for _, port := range r.Interfaces {
			n.Interfaces = append(n.Interfaces, topo.Interface{Name: port.Name, Addresses: port.Addresses, Speed: uint64(port.Speed), Up: true})
			for _, a := range port.Addresses {
				n.Prefixes = append(n.Prefixes, a.Masked())
				addresses[r.Name+" "+port.Name] = a.Addr()
			}
		}
		s.Nodes = append(s.Nodes, n)
		inv.Devices = append(inv.Devices, device.Device{
			Name: r.Name, Address: r.Management.String() + ":9339", Loopback: r.Loopback, Exporters: []netip.Addr{r.Management},
		})
	}
	for _, l := range in.Links {
		s.Links = append(s.Links, topo.Link{
			ID: l.ID, From: byName[l.From], To: byName[l.To], Interface: l.Egress, Metric: 10, Bandwidth: uint64(l.Bandwidth),
			LocalAddress: addresses[l.From+" "+l.Egress], RemoteAddress: addresses[l.To+" "+l.Ingress],
		})
	}
	return s, inv
}

func start(t *testing.T, cfg Configuration, pairs ...*alphav1.Pair) policyv1connect.PolicyServiceClient {
	t.Helper()
	client, _ := startWith(t, cfg, pairs...)
	return client
}

func startWith(t *testing.T, cfg Configuration, pairs ...*alphav1.Pair) (policyv1connect.PolicyServiceClient, *Component) {
	t.Helper()
	snapshot, inv := goldenSnapshot(t)
	b := bus.NewMemory()
	if err := b.Publish(t.Context(), bus.TopicTopology, snapshot.Area, snapshot.ToProto()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { local.Close(); b.Close() })
	log := slog.New(slog.DiscardHandler)
	graph, err := paths.New(paths.DefaultConfiguration(), paths.Dependencies{Bus: b, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(cfg, Dependencies{
		Inventory: inv, Renderers: both, Log: log,
		Alpha: alphav1connect.NewAlphaServiceClient(local.Client(), rpc.LocalURL),
		Paths: pathsv1connect.NewPathsServiceClient(local.Client(), rpc.LocalURL),
	})
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle(graph.Handler())
	mux.Handle(c.Handler())
	mux.Handle(alphav1connect.NewAlphaServiceHandler(fixedPairs{pairs: pairs}, rpc.Bounded(rpc.MaxRequest)))
	if err := graph.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { graph.Stop(context.Background()) })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitTopology(t, c)
	return policyv1connect.NewPolicyServiceClient(local.Client(), rpc.LocalURL), c
}

func awaitTopology(t *testing.T, c *Component) {
	t.Helper()
	await.True(t, "the path service has a topology", func() bool {
		r, err := c.deps.Paths.Topology(t.Context(), connect.NewRequest(&pathsv1.TopologyRequest{}))
		return err == nil && len(r.Msg.GetSnapshot().GetNodes()) > 0
	})
}

func pair(id, src, dst, exporter string) *alphav1.Pair {
	return &alphav1.Pair{Id: id, Src: src, Dst: dst, Exporter: exporter}
}

// End to end: pairs and a live topology in, the very entries of the golden case out.
func TestPlanOverTheServicesIsTheGoldenOne(t *testing.T) {
	client := start(t, DefaultConfiguration(),
		pair("p-w1-e1", "192.0.2.2/32", "198.51.100.2/32", "10.254.0.11"),
		pair("p-w-e", "192.0.2.0/24", "198.51.100.0/24", "10.254.0.11"))
	r, err := client.Plan(t.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: "hntes-two-queue"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Msg.GetPlans()) != 3 || len(r.Msg.GetSkipped()) != 0 {
		t.Errorf("%d plans, skipped %v; want 3 and none", len(r.Msg.GetPlans()), r.Msg.GetSkipped())
	}
	for _, plan := range r.Msg.GetPlans() {
		var got strings.Builder
		for _, u := range plan.GetEntries() {
			got.WriteString(u.GetPath() + "\n" + u.GetBody() + "\n\n")
		}
		want, err := os.ReadFile(policytest.Path(t, "hntes-redirect", plan.GetRouter()+".entries"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got.String(), string(want)); diff != "" {
			t.Errorf("%s (-got +want):\n%s", plan.GetRouter(), diff)
		}
	}
}

func TestPairsThatCannotBeMappedAreSkippedWithTheReason(t *testing.T) {
	client := start(t, DefaultConfiguration(),
		pair("p-stranger", "192.0.2.2/32", "198.51.100.2/32", "203.0.113.9"),
		pair("p-nowhere", "192.0.2.2/32", "203.0.113.0/24", "10.254.0.11"))
	r, err := client.Plan(t.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: "hntes-two-queue"}))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range r.Msg.GetSkipped() {
		got[s.GetPair()] = s.GetReason()
	}
	want := map[string]string{
		"p-stranger": "no device of the inventory exports flows from 203.0.113.9; add the address to its exporters",
		"p-nowhere":  "no router originates 203.0.113.0/24",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("skipped (-got +want):\n%s", diff)
	}
}

func TestRefusalsHaveCodesThatCallersCanBranchOn(t *testing.T) {
	client := start(t, DefaultConfiguration())
	for name, tc := range map[string]struct {
		req  *policyv1.PlanRequest
		want connect.Code
	}{
		"a policy that is not there": {&policyv1.PlanRequest{Policy: "nonsense"}, connect.CodeNotFound},
		"a router that is not there": {&policyv1.PlanRequest{Policy: "hntes-two-queue", Router: "xr"}, connect.CodeNotFound},
	} {
		if _, err := client.Plan(t.Context(), connect.NewRequest(tc.req)); connect.CodeOf(err) != tc.want {
			t.Errorf("%s: %v, want code %v", name, err, tc.want)
		}
	}
}

func TestABrokenFileStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte("policy: mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := New(Configuration{Dir: dir}, Dependencies{Inventory: &device.Inventory{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "mine.yaml:1:1: queues is missing") {
		t.Errorf("error %v, want the place in mine.yaml", err)
	}
}

func TestCheckReportsEveryProblem(t *testing.T) {
	client := start(t, DefaultConfiguration())
	r, err := client.Check(t.Context(), connect.NewRequest(&policyv1.CheckRequest{FileName: "x.yaml", Text: "policy: x\nqueue: 1\n"}))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Msg.GetProblems(); len(got) != 2 || got[1].GetLine() != 2 || got[1].GetFix() != "write queues:" {
		t.Errorf("problems %v, want the unknown field and the missing one", got)
	}
}

func TestAFolderThatIsNotThereIsRefused(t *testing.T) {
	_, err := New(Configuration{Dir: filepath.Join(t.TempDir(), "none")}, Dependencies{Inventory: &device.Inventory{}})
	if err == nil || !strings.HasPrefix(err.Error(), "policy: dir: ") {
		t.Errorf("error %v, want the setting's name", err)
	}
}

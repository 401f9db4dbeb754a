package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
)

// Pairs by hand and classes, over the services: mapped in the live topology, on the IGP's own paths.
func TestPairsByHandAndClassesArePlannedForTheLiveNetwork(t *testing.T) {
	dir := t.TempDir()
	text := `policy: mine
queues:
  - {name: be, id: 0, weight: 40, buffer: 40, priority: high, default: true}
  - {name: grid, id: 1, weight: 60, buffer: 55, priority: high}
  - {name: lbe, id: 2, weight: 0, buffer: 5, priority: low}
redirect:
  - queue: grid
    between:
      - {source: 192.0.2.0/26, destination: 198.51.100.0/26}
      - {source: 192.0.2.0/26, destination: 192.0.2.64/26}
      - {source: 203.0.113.0/24, destination: 198.51.100.0/26}
classes:
  - {name: scavenger, queue: lbe, match: [{dscp: [cs1, le]}]}
policers:
  - {name: lbe-10m, queue: lbe, rate: 10Mbit/s, burst: 15kB, exceed: {drop: true}}
`
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	client := start(t, Configuration{Dir: dir})
	r, err := client.Plan(t.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: "mine", Render: "linux"}))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, plan := range r.Msg.GetPlans() {
		for _, rule := range plan.GetRules() {
			got[plan.GetRouter()] = append(got[plan.GetRouter()], strings.TrimSpace(rule.GetFilter()+" "+rule.GetSrc()+" "+rule.GetDst()+" "+rule.GetClass()+" "+rule.GetQueue()))
		}
		if !strings.Contains(plan.GetRendered(), "htb default") {
			t.Errorf("%s is not rendered as commands of tc", plan.GetRouter())
		}
	}
	want := map[string][]string{
		"wr": {
			"core   scavenger lbe", "ingress 192.0.2.0/26 192.0.2.64/26  grid", "ingress 192.0.2.0/26 198.51.100.0/26  grid", "ingress   scavenger lbe",
		},
		"er": {"core   scavenger lbe", "edge   scavenger lbe", "transit 192.0.2.0/26 198.51.100.0/26  grid", "transit   scavenger lbe"},
		"cr": {"core   scavenger lbe"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("rules (-got +want):\n%s", diff)
	}
	if s := r.Msg.GetSkipped(); len(s) != 1 || s[0].GetReason() != "no router originates 203.0.113.0/24" {
		t.Errorf("skipped %v, want the pair nobody originates", s)
	}
	i := slices.IndexFunc(r.Msg.GetPlans(), func(p *policyv1.RouterPlan) bool { return p.GetRouter() == "wr" })
	if p := r.Msg.GetPlans()[i].GetPolicers(); len(p) != 1 || !p[0].GetExceed().GetDrop() || len(p[0].GetInterfaces()) != 2 {
		t.Errorf("policers %v, want one on the two customer ports", p)
	}
}

// A queue of half a path's bandwidth needs two paths for more than half of one.
func TestASetHasWhatTheQueueIsToBeGuaranteed(t *testing.T) {
	dir := t.TempDir()
	text := `policy: half
queues:
  - {name: be, id: 0, weight: 50, buffer: 50, priority: high, default: true}
  - {name: bulk, id: 1, weight: 50, buffer: 50, priority: high}
redirect:
  - queue: bulk
    between: [{source: 192.0.2.0/26, destination: 198.51.100.0/26}]
    lsp: {paths: 2, min_bandwidth: 80Mbit/s}
`
	if err := os.WriteFile(filepath.Join(dir, "half.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	client := start(t, Configuration{Dir: dir})
	r, err := client.Plan(t.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: "half"}))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Msg.GetPlans(), func(p *policyv1.RouterPlan) bool { return p.GetRouter() == "wr" })
	if i < 0 || len(r.Msg.GetPlans()[i].GetLspSets()) != 1 {
		t.Errorf("plans %v, skipped %v; want a set of two LSPs at wr", r.Msg.GetPlans(), r.Msg.GetSkipped())
	}
}

func TestAnUnknownRenderingIsRefused(t *testing.T) {
	client := start(t, DefaultConfiguration())
	_, err := client.Plan(t.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: "hntes-two-queue", Render: "cobol"}))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("error %v, want FAILED_PRECONDITION", err)
	}
}

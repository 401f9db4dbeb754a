package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

const triangle = `name: triangle
routers: [{name: A, agent: true}, {name: B, agent: true}, {name: C}]
hosts:
  - {name: H, address: 10.1.1.2/24, gateway: 10.1.1.1}
  - {name: K, address: 10.2.1.2/24, gateway: 10.2.1.1}
links:
  - {a: "A:ge-b", b: "B:ge-a", rate: 100Mbit/s}
  - {a: "A:ge-c", b: "C:ge-a", rate: 50Mbit/s}
  - {a: "C:ge-b", b: "B:ge-c", rate: 200Mbit/s}
  - {a: "H:eth0", b: "A:ge-h", rate: 100Mbit/s}
  - {a: "K:eth0", b: "B:ge-k", rate: 100Mbit/s}
pairs: [{name: h-k, from: H, to: K}, {name: rest, from: H, to: K, count: 300}]
phases: [{name: p, applications: [{name: a, kind: ping, from: H, to: K, stop: 1s}]}]
`

func parse(t *testing.T) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("triangle.yaml", []byte(triangle))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPathsKeepOffTheShortestWhereAsked(t *testing.T) {
	s := parse(t)
	plain := compile.Demand{From: "A", To: "B"}
	apart := compile.Demand{From: "A", To: "B", LSP: document.LSP{AvoidShortest: true}}
	nowhere := compile.Demand{From: "A", To: "Z"}
	found, none := paths(s, []compile.Demand{plain, apart, nowhere})
	if diff := cmp.Diff([]string{"A", "B"}, found[plain].Nodes); diff != "" {
		t.Errorf("shortest (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A", "C", "B"}, found[apart].Nodes); diff != "" {
		t.Errorf("apart (-want +got):\n%s", diff)
	}
	if got := found[apart].Bottleneck.String(); got != "50Mbit/s" {
		t.Errorf("bottleneck %s", got)
	}
	if none[nowhere] == "" {
		t.Error("a path to nowhere was found")
	}
}

func TestPairsAreMappedToTheirHostsRouters(t *testing.T) {
	got := pairs(parse(t), &scenario.PolicyUse{}, 0)
	if len(got) != 301 {
		t.Fatalf("%d pairs", len(got))
	}
	if p := got[0]; p.Ingress != "A" || p.Egress != "B" || p.Src.String() != "10.1.1.0/24" || p.Dst.String() != "10.2.1.0/24" {
		t.Errorf("%+v", p)
	}
	seen := map[string]bool{}
	for _, p := range got {
		seen[p.Src.String()+p.Dst.String()] = true
	}
	if len(seen) != len(got) {
		t.Errorf("only %d of %d pairs differ", len(seen), len(got))
	}
}

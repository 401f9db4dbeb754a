package compile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

// sharesOf are beta's weights by router and port.
func sharesOf(t *testing.T, in compile.Input) map[string]uint8 {
	t.Helper()
	r, err := compile.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint8{}
	for _, p := range r.Plans {
		for _, port := range p.Ports {
			for _, q := range p.At(port).Queues {
				if q.Default {
					out[p.Router+" "+port.Interface] = q.Weight
				}
			}
		}
	}
	return out
}

// A split changes the ports that it is of, and no other; without a split in the policy it changes none.
func TestASplitIsOfItsPort(t *testing.T) {
	in := policytest.Read(t, "hntes-split")
	without := in
	without.Splits = nil
	usual := sharesOf(t, without)
	want := map[string]uint8{}
	for port := range usual {
		want[port] = 5
	}
	if diff := cmp.Diff(usual, want); diff != "" {
		t.Fatalf("without a split in force (-got +want):\n%s", diff)
	}
	want["c to-d"], want["c to-a1"], want["d peer"] = 30, 20, 60
	if diff := cmp.Diff(sharesOf(t, in), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	none := in
	none.Policy.Split = nil
	if diff := cmp.Diff(sharesOf(t, none), usual); diff != "" {
		t.Errorf("without a split in the policy (-got +want):\n%s", diff)
	}
	if r, err := compile.Compile(none); err != nil || len(r.Ignored) != len(in.Splits) {
		t.Errorf("%v, %v", r.Ignored, err)
	}
}

func TestWhatIsNotFollowedIsNamed(t *testing.T) {
	r, err := compile.Compile(policytest.Read(t, "hntes-split"))
	if err != nil {
		t.Fatal(err)
	}
	want := []compile.Ignored{
		{Split: compile.Split{Router: "d", Interface: "peer", Beta: 90}, Why: "policy hntes-split allows 5 to 60 %, and the nearer of them is planned"},
		{Split: compile.Split{Router: "a2", Interface: "none", Beta: 40}, Why: "the port gets no queues under policy hntes-split"},
	}
	if diff := cmp.Diff(r.Ignored, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// A redirect's min_bandwidth has to fit where beta has most.
func TestMinBandwidthCountsOnTheLeastThatAlphaHas(t *testing.T) {
	in := policytest.Read(t, "hntes-split")
	in.Splits = nil
	lsp := *in.Policy.Redirect[0].LSP
	lsp.MinBandwidth = 5e9 // of the 10 Gbit/s bottleneck alpha has 40 % at least, and 95 % by its weight
	paths := map[compile.Demand]compile.Path{}
	for demand, path := range in.Paths {
		demand.LSP, path.Bottleneck = lsp, 10e9
		paths[demand] = path
	}
	in.Paths = paths
	in.Policy.Redirect = []document.Redirect{in.Policy.Redirect[0]}
	in.Policy.Redirect[0].LSP = &lsp
	s := *in.Policy.Split
	s.Max = 60
	in.Policy.Split = &s
	if _, err := compile.Compile(in); err == nil {
		t.Error("5 Gbit/s are promised to alpha, which may have 4")
	}
	s.Max = 50
	if _, err := compile.Compile(in); err != nil {
		t.Errorf("alpha has 5 Gbit/s at least: %v", err)
	}
}

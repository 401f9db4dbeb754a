package compile_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

// Paper 002, table II: the three splits of rate and buffer among
// alpha, beta and scavenger behind a policer of 1 Gbit/s.
func TestShareBelowProfileIsTableIIsLastColumn(t *testing.T) {
	for _, c := range []struct {
		what               string
		alpha, beta, ss    uint8
		policer            units.Rate
		refused, forceable bool
	}{
		{"(49,50,1): alpha has 4.9 of 10 Gbit/s", 49, 50, 1, 1e9, false, false},
		{"(30,50,20): alpha has 3 of 10 Gbit/s", 30, 50, 20, 1e9, false, false},
		{"(10,30,60): alpha has exactly the policer's 1 Gbit/s, and nothing for a burst", 10, 30, 60, 1e9, true, true},
		{"(9,31,60): alpha has less", 9, 31, 60, 1e9, true, true},
		{"a port slower than the policer is no place to look", 10, 30, 60, 10e9, false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			in := policytest.Read(t, "hntes-three-queue-scavenger")
			p, problems := document.WithWeights(in.Policy,
				map[string]uint8{"alpha": c.alpha, "beta": c.beta, "scavenger": c.ss}, map[string]uint8{"alpha": c.alpha, "beta": c.beta, "scavenger": c.ss})
			if err := document.Join(problems); err != nil {
				t.Fatal(err)
			}
			p.Policers[0].Rate = c.policer
			in.Policy = p
			_, err := compile.Compile(in)
			if (err != nil) != c.refused {
				t.Fatalf("error %v, want one: %v", err, c.refused)
			}
			if err != nil && !strings.Contains(err.Error(), "raise its weight above 10 %, or cross guard rail share-below-profile with force:") {
				t.Errorf("error %v does not name the guard rail and the way out", err)
			}
			in.Policy.Force = append(slices.Clone(p.Force), document.Force{Guard: document.ShareBelowProfile, Reason: "table II"})
			result, err := compile.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			want := "guard rail share-below-profile is forced, and no port needs it"
			if c.forceable {
				want = "guard rail share-below-profile is crossed: table II"
			}
			for _, plan := range result.Plans {
				if !slices.Contains(plan.Reasons, want) {
					t.Errorf("%s: reasons %q, want %q", plan.Router, plan.Reasons, want)
				}
			}
		})
	}
}

// A guard rail of the document alone is crossed on every router; one of ports only where a port needs it.
func TestReasonsOfCrossedGuardRails(t *testing.T) {
	in := policytest.Read(t, "hntes-redirect")
	in.Policy.Force = []document.Force{{Guard: document.SplitsFlow, Reason: "table IV"}}
	result, err := compile.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range result.Plans {
		if !slices.Contains(plan.Reasons, "guard rail splits-flow is crossed: table IV") {
			t.Errorf("%s: reasons %q do not name the guard rail", plan.Router, plan.Reasons)
		}
	}
}

// Of several mistakes the first is reported: of pairs by their prefixes, of ports by router and name.
func TestTheFirstOfSeveralMistakesIsReported(t *testing.T) {
	in := policytest.Read(t, "hntes-redirect")
	in.Policy.Redirect = slices.Clone(in.Policy.Redirect)
	in.Policy.Redirect[0].LSP = &document.LSP{MinBandwidth: 96_000_000}
	in.Paths = map[compile.Demand]compile.Path{}
	for _, to := range []string{"er", "cr"} {
		in.Paths[compile.Demand{From: "wr", To: to, LSP: *in.Policy.Redirect[0].LSP}] = compile.Path{
			Links: []string{in.Links[0].ID}, Segments: []netip.Addr{netip.MustParseAddr("10.255.0.2")}, Bottleneck: 100_000_000,
		}
	}
	in.Pairs = []compile.Pair{
		{ID: "b", Src: netip.MustParsePrefix("192.0.2.0/26"), Dst: netip.MustParsePrefix("198.51.100.64/26"), Ingress: "wr", Egress: "cr"},
		{ID: "a", Src: netip.MustParsePrefix("192.0.2.0/26"), Dst: netip.MustParsePrefix("198.51.100.0/26"), Ingress: "wr", Egress: "er"},
	}
	in.Policy.Policers = []document.Policer{
		{Name: "harmless", Queue: "beta", Rate: 1_000_000, Burst: 1e4, At: document.WhereAll},
		{Name: "p", Queue: "alpha", Rate: 95_000_000, Burst: 1e4, At: document.WhereAll},
	}
	_, err := compile.Compile(in)
	if err == nil || !strings.Contains(err.Error(), "between wr and er") {
		t.Errorf("error %v, want that of the first pair", err)
	}
	in.Pairs = nil
	in.Policy.Ports = document.PortsCore
	if _, err = compile.Compile(in); err == nil || !strings.Contains(err.Error(), "on port ge-er of cr") {
		t.Errorf("error %v, want that of the first port", err)
	}
}

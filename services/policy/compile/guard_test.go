package compile_test

import (
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
			if err != nil && !strings.Contains(err.Error(), "cross guard rail share-below-profile with force:") {
				t.Errorf("error %v does not name the guard rail", err)
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

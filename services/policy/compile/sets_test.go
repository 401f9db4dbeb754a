package compile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

// setsOf are the names of the sets that a router's rules lead to, by source.
func setsOf(t *testing.T, in compile.Input, router string) map[string]string {
	t.Helper()
	result, err := compile.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, plan := range result.Plans {
		for _, f := range plan.Filters {
			for _, rule := range f.Rules {
				if plan.Router == router && rule.LSP != "" {
					out[rule.Match.Src.String()] = rule.LSP
				}
			}
		}
	}
	return out
}

// The name is the seed by which flows are put on LSPs: it is the rule's, whatever else the policy has pairs for.
func TestASetKeepsItsNameWhenOtherPairsGo(t *testing.T) {
	const first, second = "192.0.2.0/26", "192.0.2.64/26"
	in := policytest.Read(t, "weighted-lsps")
	for _, rules := range [][]document.Redirect{
		in.Policy.Redirect,
		{in.Policy.Redirect[0], {Queue: "bulk", LSPs: []document.ExplicitLSP{{Via: []string{"wr", "cr", "er"}}, {Via: []string{"wr", "er"}}}}},
	} {
		in.Policy.Redirect = rules
		in.Pairs = slices.DeleteFunc(in.Pairs, func(p compile.Pair) bool { return p.Redirect >= 2 })
		for d, paths := range in.Sets {
			for i := range paths {
				in.Sets[d][i].Weight = 1 // by hand they are 3 and 2
			}
		}
		both := setsOf(t, in, "wr")
		if both[first] == both[second] || both[first] == "" || both[second] == "" {
			t.Errorf("sets %v, want two", both)
		}
		alone := in
		alone.Pairs = slices.DeleteFunc(slices.Clone(in.Pairs), func(p compile.Pair) bool { return p.Src.String() == first })
		if got := setsOf(t, alone, "wr")[second]; got != both[second] {
			t.Errorf("the set is %s, and %s once the other pair is gone", both[second], got)
		}
	}
}

// Weights and the order of the paths are no part of a set's name, so that flows keep to the LSPs that stay.
func TestASetKeepsItsNameWithOtherWeights(t *testing.T) {
	in := policytest.Read(t, "weighted-lsps")
	before := setsOf(t, in, "wr")
	lsps := slices.Clone(in.Policy.Redirect[0].LSPs)
	slices.Reverse(lsps)
	lsps[0].Weight = 9
	in.Policy.Redirect = slices.Clone(in.Policy.Redirect)
	in.Policy.Redirect[0].LSPs = lsps
	if diff := cmp.Diff(setsOf(t, in, "wr"), before); diff != "" {
		t.Errorf("sets (-with other weights +before):\n%s", diff)
	}
}

// Of a set's bandwidth the queue has its weight: what is requested is so much that the share is min_bandwidth.
func TestASetIsRequestedForTheQueuesShare(t *testing.T) {
	for _, c := range []struct {
		weight          uint8
		paths           uint8
		bandwidth, want units.Rate
	}{
		{50, 3, 12e9, 24e9}, {95, 2, 15e9, 15_789_473_685}, {100, 2, 7, 7}, {50, 1, 12e9, 0}, {1, 2, 1 << 62, 1<<63 - 1},
	} {
		in := policytest.Read(t, "weighted-lsps")
		in.Policy.Queues = slices.Clone(in.Policy.Queues)
		in.Policy.Queues[1].Weight = c.weight
		in.Policy.Redirect = []document.Redirect{{Queue: "bulk", LSP: &document.LSP{Paths: c.paths, MinBandwidth: c.bandwidth}}}
		pair := compile.Pair{ID: "a", Src: in.Pairs[0].Src, Dst: in.Pairs[0].Dst, Ingress: "wr", Egress: "er"}
		demands := compile.Demands(in.Policy, []compile.Pair{pair})
		if len(demands) != 1 || demands[0].Bandwidth != c.want {
			t.Errorf("%+v: demands %+v", c, demands)
		}
	}
}

// The refusal names more than the policy does, so it says where that comes from.
func TestARefusedSetNamesTheQueuesShare(t *testing.T) {
	in := policytest.Read(t, "weighted-lsps")
	in.Pairs = in.Pairs[1:2]
	d := compile.Demands(in.Policy, in.Pairs)[0]
	in.Sets, in.NoPath = nil, map[compile.Demand]string{d: "there is less"}
	result, err := compile.Compile(in)
	want := "there is less; queue bulk has 95 % of it, which is to be min_bandwidth 15Gbit/s"
	if err != nil || len(result.Skipped) != 1 || !strings.HasSuffix(result.Skipped[0].Why, want) {
		t.Errorf("%v (%v), want %s", result.Skipped, err, want)
	}
}

// Rules of the same paths and weights share a set, in whatever places of the policy they are; other weights are another
// set.
func TestWhichRulesShareASet(t *testing.T) {
	rule := func(weight uint8, via ...[]string) document.Redirect {
		r := document.Redirect{Queue: "bulk"}
		for _, v := range via {
			r.LSPs = append(r.LSPs, document.ExplicitLSP{Via: v, Weight: weight})
			weight = 1
		}
		return r
	}
	one, other := []string{"wr", "cr", "er"}, []string{"wr", "er"}
	policy := document.Policy{Redirect: []document.Redirect{
		rule(2, one, other), rule(5, one), rule(3, one, other), rule(2, one, other), rule(4, one, other), rule(3, one, other),
	}}
	var names []string
	for i := range policy.Redirect {
		names = append(names, compile.SetName(policy, compile.Pair{Ingress: "wr", Egress: "er", Redirect: i}))
	}
	for i, want := range []int{0, 1, 2, 0, 4, 2} { // the first rule with this name
		if first := slices.Index(names, names[i]); first != want {
			t.Errorf("rule %d has the set of rule %d, want %d", i, first, want)
		}
	}
}

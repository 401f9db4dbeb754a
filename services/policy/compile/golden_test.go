package compile_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

func TestPlansAreTheGoldenOnes(t *testing.T) {
	for _, name := range policytest.Names(t) {
		t.Run(name, func(t *testing.T) {
			result, err := compile.Compile(policytest.Read(t, name))
			if err != nil {
				t.Fatal(err)
			}
			policytest.Compare(t, name, "plan.json", planText(t, result))
		})
	}
}

// planText is the plan without what is not there: nulls and empty texts.
func planText(t *testing.T, result compile.Result) string {
	t.Helper()
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	raw, err = json.MarshalIndent(prune(v), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + "\n"
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, value any) bool { return value == nil || value == "" })
		for name := range v {
			v[name] = prune(v[name])
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return v
}

func TestTheOrderOfTheInputDoesNotMatter(t *testing.T) {
	for _, name := range policytest.Names(t) {
		in := policytest.Read(t, name)
		want, err := compile.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			shuffle(random, in.Routers)
			shuffle(random, in.Links)
			shuffle(random, in.Pairs)
			shuffle(random, in.Circuits)
			for _, r := range in.Routers {
				shuffle(random, r.Interfaces)
			}
			got, err := compile.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s (-got +want):\n%s", name, cmp.Diff(got, want, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })))
			}
		}
	}
}

func shuffle[T any](r *rand.Rand, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// What the redirect is for, read back from the plan by brute force: each
// packet of a redirected pair meets exactly one rule on each managed router of
// its path, in front of a port that has the queues.
func TestEveryRouterOfThePathKnowsThePair(t *testing.T) {
	for _, name := range policytest.Names(t) {
		in := policytest.Read(t, name)
		result, err := compile.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range in.Pairs {
			if slices.ContainsFunc(result.Skipped, func(s compile.Skipped) bool { return s.Pair == p.ID }) {
				continue
			}
			for _, path := range pathsOf(in, p) {
				for i, node := range path.Nodes {
					if managed(in, node) {
						checkNode(t, result, p, node, i == 0 && in.Policy.Redirect[p.Redirect].LSP != nil)
					}
				}
			}
		}
	}
}

func pathsOf(in compile.Input, p compile.Pair) []compile.Path {
	lsp := in.Policy.Redirect[p.Redirect].LSP
	switch {
	case lsp != nil:
		return []compile.Path{in.Paths[compile.Demand{From: p.Ingress, To: p.Egress, LSP: *lsp}]}
	case p.Ingress == p.Egress:
		return []compile.Path{{Nodes: []string{p.Ingress}}}
	}
	return in.ECMP[compile.RouterPair{From: p.Ingress, To: p.Egress}]
}

func managed(in compile.Input, name string) bool {
	return slices.ContainsFunc(in.Routers, func(r compile.Router) bool { return r.Name == name && r.Managed })
}

func checkNode(t *testing.T, result compile.Result, p compile.Pair, node string, redirected bool) {
	t.Helper()
	i := slices.IndexFunc(result.Plans, func(r compile.RouterPlan) bool { return r.Router == node })
	if i < 0 {
		t.Errorf("pair %s: no plan for %s", p.ID, node)
		return
	}
	plan, matches := result.Plans[i], 0
	for _, f := range plan.Filters {
		for _, rule := range f.Rules {
			if rule.Match.Src == p.Src && rule.Match.Dst == p.Dst && (rule.LSP != "") == redirected && len(f.Interfaces) > 0 {
				matches++
			}
		}
	}
	if matches != 1 || len(plan.Ports) == 0 {
		t.Errorf("pair %s on %s: %d rules, %d ports; want one rule and some ports", p.ID, node, matches, len(plan.Ports))
	}
}

func TestAQueueThatCannotGuaranteeTheMinimumIsRefused(t *testing.T) {
	in := policytest.Read(t, "hntes-redirect")
	in.Policy.Redirect = slices.Clone(in.Policy.Redirect)
	old := *in.Policy.Redirect[0].LSP
	in.Policy.Redirect[0].LSP = &document.LSP{AvoidShortest: true, MinBandwidth: 96_000_000}
	from := compile.Demand{From: "wr", To: "er", LSP: old}
	in.Paths[compile.Demand{From: "wr", To: "er", LSP: *in.Policy.Redirect[0].LSP}] = in.Paths[from]
	_, err := compile.Compile(in)
	want := "policy hntes-two-queue: queue alpha guarantees 95Mbit/s of the 100Mbit/s bottleneck between wr and er, less than min_bandwidth 96Mbit/s; raise its weight or lower min_bandwidth"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAnotherPathIsAnotherLSP(t *testing.T) {
	in := policytest.Read(t, "hntes-redirect")
	d := compile.Demand{From: "wr", To: "er", LSP: *in.Policy.Redirect[0].LSP}
	direct := compile.Path{Segments: []netip.Addr{netip.MustParseAddr("10.255.0.2")}}
	if compile.LSPName(d, in.Paths[d]) == compile.LSPName(d, direct) {
		t.Error("the LSP over cr and the direct one have the same name, so one could only replace the other")
	}
}

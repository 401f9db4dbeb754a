package policy

import (
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/policies"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/render/openconfig"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests saw into their golden files")

const goldenDir = "../../policies/golden"

// network is the form of golden/<case>/network.yaml.
type network struct {
	Policy  string
	Routers []struct {
		Name                 string
		Managed              *bool
		Loopback, Management netip.Addr
		Interfaces           []struct {
			Name      string
			Addresses []netip.Prefix
			Speed     units.Rate
		}
	}
	Links []struct {
		ID, From, To, Egress, Ingress string
		Bandwidth                     units.Rate
	}
	Pairs []struct {
		ID, Ingress, Egress, Unplaced string
		Src, Dst                      netip.Prefix
	}
	Paths []struct {
		From, To     string
		Nodes, Links []string
		Segments     []netip.Addr
		Bottleneck   units.Rate
		Reason       string
	}
	NoPath []struct{ From, To, Why string } `yaml:"no_path"`
}

func readCase(t *testing.T, name string) compile.Input {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(goldenDir, name, "network.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var n network
	if err := yaml.UnmarshalWithOptions(raw, &n, yaml.Strict()); err != nil {
		t.Fatal(yaml.FormatError(err, false, true))
	}
	text, err := policies.Files.ReadFile(n.Policy)
	if err != nil {
		t.Fatal(err)
	}
	p, problems := document.Parse(n.Policy, string(text))
	if err := document.Join(problems); err != nil {
		t.Fatal(err)
	}
	return n.input(*p)
}

func (n network) input(p document.Policy) compile.Input {
	in := compile.Input{Policy: p, Paths: map[compile.Demand]compile.Path{}, NoPath: map[compile.Demand]string{}}
	for _, r := range n.Routers {
		router := compile.Router{Name: r.Name, Managed: r.Managed == nil || *r.Managed, Loopback: r.Loopback, Management: r.Management}
		for _, i := range r.Interfaces {
			router.Interfaces = append(router.Interfaces, compile.Interface(i))
		}
		in.Routers = append(in.Routers, router)
	}
	for _, l := range n.Links {
		in.Links = append(in.Links, compile.Link(l))
	}
	for _, pair := range n.Pairs {
		in.Pairs = append(in.Pairs, compile.Pair{ID: pair.ID, Src: pair.Src, Dst: pair.Dst, Ingress: pair.Ingress, Egress: pair.Egress, Unplaced: pair.Unplaced})
	}
	lsp := p.Redirect[0].LSP
	for _, path := range n.Paths {
		in.Paths[compile.Demand{From: path.From, To: path.To, LSP: *lsp}] = compile.Path{
			Nodes: path.Nodes, Links: path.Links, Segments: path.Segments, Bottleneck: path.Bottleneck, Reason: path.Reason,
		}
	}
	for _, none := range n.NoPath {
		in.NoPath[compile.Demand{From: none.From, To: none.To, LSP: *lsp}] = none.Why
	}
	return in
}

func goldenCases(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(goldenDir + "/*/network.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	var out []string
	for _, d := range dirs {
		out = append(out, filepath.Base(filepath.Dir(d)))
	}
	return out
}

func TestPlansAndUnitsAreTheGoldenOnes(t *testing.T) {
	for _, name := range goldenCases(t) {
		t.Run(name, func(t *testing.T) {
			result, err := compile.Compile(readCase(t, name))
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, filepath.Join(goldenDir, name, "plan.json"), planText(t, result))
			for _, plan := range result.Plans {
				compareGolden(t, filepath.Join(goldenDir, name, plan.Router+".units"), unitsText(t, plan))
			}
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

func unitsText(t *testing.T, plan compile.RouterPlan) string {
	t.Helper()
	list, err := openconfig.Units(plan)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, u := range list {
		b.WriteString(u.Path + "\n" + u.JSON + "\n\n")
	}
	return b.String()
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, string(want)); diff != "" {
		t.Errorf("%s (-got +want):\n%s", path, diff)
	}
}

func TestTheOrderOfTheInputDoesNotMatter(t *testing.T) {
	for _, name := range goldenCases(t) {
		in := readCase(t, name)
		want, err := compile.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			shuffle(random, in.Routers)
			shuffle(random, in.Links)
			shuffle(random, in.Pairs)
			for _, r := range in.Routers {
				shuffle(random, r.Interfaces)
			}
			got, err := compile.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, want, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Fatalf("%s (-got +want):\n%s", name, diff)
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
	for _, name := range goldenCases(t) {
		in := readCase(t, name)
		result, err := compile.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range in.Pairs {
			if slices.ContainsFunc(result.Skipped, func(s compile.Skipped) bool { return s.Pair == p.ID }) {
				continue
			}
			path := in.Paths[compile.Demand{From: p.Ingress, To: p.Egress, LSP: *in.Policy.Redirect[0].LSP}]
			for i, node := range path.Nodes {
				if managed(in, node) {
					checkNode(t, result, p, node, i == 0)
				}
			}
		}
	}
}

func managed(in compile.Input, name string) bool {
	return slices.ContainsFunc(in.Routers, func(r compile.Router) bool { return r.Name == name && r.Managed })
}

func checkNode(t *testing.T, result compile.Result, p compile.Pair, node string, first bool) {
	t.Helper()
	i := slices.IndexFunc(result.Plans, func(r compile.RouterPlan) bool { return r.Router == node })
	if i < 0 {
		t.Errorf("pair %s: no plan for %s", p.ID, node)
		return
	}
	plan, matches := result.Plans[i], 0
	for _, f := range plan.Filters {
		for _, rule := range f.Rules {
			if rule.Match.Src == p.Src && rule.Match.Dst == p.Dst && (rule.LSP != "") == first && len(f.Interfaces) > 0 {
				matches++
			}
		}
	}
	if matches != 1 || len(plan.Ports) == 0 {
		t.Errorf("pair %s on %s: %d rules, %d ports; want one rule and some ports", p.ID, node, matches, len(plan.Ports))
	}
}

func TestAQueueThatCannotGuaranteeTheMinimumIsRefused(t *testing.T) {
	in := readCase(t, "hntes-redirect")
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
	in := readCase(t, "hntes-redirect")
	d := compile.Demand{From: "wr", To: "er", LSP: *in.Policy.Redirect[0].LSP}
	direct := compile.Path{Segments: []netip.Addr{netip.MustParseAddr("10.255.0.2")}}
	if compile.LSPName(d, in.Paths[d]) == compile.LSPName(d, direct) {
		t.Error("the LSP over cr and the direct one have the same name, so one could only replace the other")
	}
}

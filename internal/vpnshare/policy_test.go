package vpnshare

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millrace/millrace/policies/vpn"
)

// compiled parses and compiles as an agent does, without a topology.
func compiled(text string) (Policy, error) {
	f, err := Parse([]byte(text))
	if err != nil {
		return Policy{}, err
	}
	return f.Compile(nil)
}

func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]float64
		fails      string
	}{
		{"weights as written, 1 where none is", "vpns: [{name: red, weight: 2.5}, {name: blue}]", map[string]float64{"red": 2.5, "blue": 1}, ""},
		{"equal ignores weights", "criterion: equal\nvpns: [{name: red, weight: 2}, {name: blue}]", map[string]float64{"red": 1, "blue": 1}, ""},
		{"max-min is table III of paper 001",
			"criterion: max-min\nlinks: [{name: l1, rate: 20Mbit/s}, {name: l2, rate: 10Mbit/s}, {name: l3, rate: 30Mbit/s}]\n" +
				"vpns: [{name: v1, links: [l1, l2, l3]}, {name: v2, links: [l1]}, {name: v3, links: [l2]}, {name: v4, links: [l3]}]",
			map[string]float64{"v1": 1, "v2": 3, "v3": 1, "v4": 5}, ""},
		{"a name twice", "vpns: [{name: red}, {name: red}]", nil, "twice"},
		{"links are counted for weighted, too, but change nothing", "links: [{name: l1, rate: 20Mbit/s}]\nvpns: [{name: red, weight: 2, links: [l1]}]", map[string]float64{"red": 2}, ""},
		{"a weight of 0", "vpns: [{name: red, weight: 0}]", nil, "weight 0 of VPN red: use more than 0"},
		{"a negative weight", "vpns: [{name: red, weight: -1}]", nil, "weight -1 of VPN red"},
		{"not a number", "vpns: [{name: red, weight: .nan}]", nil, "weight"},
		{"a weight beyond all measure", "vpns: [{name: red, weight: 1e9}]", nil, "at most 1e+06"},
		{"max-min without links", "criterion: max-min\nvpns: [{name: red}]", nil, "from the topology"},
		{"max-min with a VPN that crosses none", "criterion: max-min\nlinks: [{name: l1, rate: 1Mbit/s}]\nvpns: [{name: red}]", nil, "VPN red crosses no link"},
		{"a link without rate", "links: [{name: l1, rate: 0bit/s}]\nvpns: []", nil, "rate"},
		{"a link twice", "links: [{name: l1, rate: 1Mbit/s}, {name: l1, rate: 1Mbit/s}]\nvpns: []", nil, "twice"},
		{"a ratio that cannot be kept", "criterion: max-min\nlinks: [{name: l1, rate: 1bit/s}, {name: l2, rate: 10Gbit/s}]\nvpns: [{name: red, links: [l1]}, {name: blue, links: [l2]}]", nil, "VPN blue"},
		{"an unknown criterion", "criterion: nice\nvpns: []", nil, "criterion"},
		{"an unknown link", "criterion: max-min\nvpns: [{name: red, links: [l9]}]", nil, "l9"},
		{"an unknown key", "vpn: []", nil, "vpn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := compiled(c.text)
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Fatalf("got %v, want %q", err, c.fails)
			}
			near := cmpopts.EquateApprox(0, 1e-9)
			if diff := cmp.Diff(c.want, p.Weights, near); err == nil && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestShippedPoliciesFitTheSchemaAndTheReader(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(vpn.Schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	names, err := vpn.Files.ReadDir(".")
	if err != nil || len(names) == 0 {
		t.Fatalf("no shipped policies: %v", err)
	}
	for _, n := range names {
		text, err := vpn.Files.ReadFile(n.Name())
		if err != nil {
			t.Fatal(err)
		}
		if f, err := Parse(text); err != nil || f.Policy+".yaml" != n.Name() {
			t.Errorf("%s: policy %q, %v", n.Name(), f.Policy, err)
		}
		if _, err := compiled(string(text)); err != nil && !errors.Is(err, ErrNoRoutes) {
			t.Errorf("%s: %v", n.Name(), err)
		}
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(asJSON, &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", n.Name(), err)
		}
	}
}

func TestMaxMinOverTheTopology(t *testing.T) {
	f, err := Parse([]byte("criterion: max-min\nvpns: [{name: v1}, {name: v2, weight: 2}, {name: v3}, {name: dark, weight: 3}]"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Compile(&Network{Capacity: []float64{30e6, 10e6}, Crosses: map[string][]int{"v1": {0, 1}, "v2": {0}, "v3": {1}}})
	if err != nil {
		t.Fatal(err)
	}
	// Link 2 gives 5 Mbit/s each to v1 and v3; v2 has the other 25 of link 1. The route of dark is unknown.
	if diff := cmp.Diff(got.Weights, map[string]float64{"v1": 1, "v2": 5, "v3": 1, "dark": 3}, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		name   string
		flows  []Flow
		want   []float64
		f      float64
		active int
	}{
		{"in the ratio of the weights", []Flow{{Weight: 1, Throughput: 10}, {Weight: 2, Throughput: 20}}, []float64{10, 20}, 1, 2},
		{"one has all", []Flow{{Weight: 1, Throughput: 30}, {Weight: 1, Throughput: 1e-9}}, []float64{15, 15}, 0.5, 2},
		{"who sends nothing wants nothing", []Flow{{Weight: 1, Throughput: 10}, {Weight: 9}, {Weight: 1, Throughput: 10}}, []float64{10, 0, 10}, 1, 2},
		{"nobody sends", []Flow{{Weight: 1}}, []float64{0}, 1, 0},
		{"flows that share nothing are measured apart", []Flow{
			{Weight: 1, Throughput: 10, Links: []int{1}}, {Weight: 1, Throughput: 10, Links: []int{1}}, {Weight: 1, Throughput: 90, Links: []int{2}}}, []float64{10, 10, 90}, 1, 3},
		{"who sends nothing needs no links", []Flow{
			{Weight: 1, Throughput: 10, Links: []int{1}}, {Weight: 1, Throughput: 90, Links: []int{2}}, {Weight: 1}}, []float64{10, 90, 0}, 1, 2},
		{"who sends nothing comes first", []Flow{
			{Weight: 1, Links: []int{1}}, {Weight: 1, Throughput: 10, Links: []int{1}}, {Weight: 1, Throughput: 10, Links: []int{1}}, {Weight: 1, Throughput: 90, Links: []int{2}}}, []float64{0, 10, 10, 90}, 1, 3},
		{"flows share through others", []Flow{
			{Weight: 1, Throughput: 10, Links: []int{1}}, {Weight: 1, Throughput: 30, Links: []int{2}}, {Weight: 1, Throughput: 20, Links: []int{1, 2}}}, []float64{20, 20, 20}, 3600.0 / 4200, 3},
		{"a flow of unknown links may share with all", []Flow{
			{Weight: 1, Throughput: 10, Links: []int{1}}, {Weight: 1, Throughput: 30, Links: []int{2}}, {Weight: 1, Throughput: 20}}, []float64{20, 20, 20}, 3600.0 / 4200, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Shares(c.flows)
			if diff := cmp.Diff(got, c.want, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
			f, _, active := Measure(c.flows, got)
			if math.Abs(f-c.f) > 1e-6 || active != c.active {
				t.Errorf("got F %g of %d, want %g of %d", f, active, c.f, c.active)
			}
		})
	}
}

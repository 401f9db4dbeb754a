package weights

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millrace/millrace/policies/vpn"
)

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
		{"a negative weight", "vpns: [{name: red, weight: -1}]", nil, "weight -1 of VPN red"},
		{"not a number", "vpns: [{name: red, weight: .nan}]", nil, "weight"},
		{"an unknown criterion", "criterion: nice\nvpns: []", nil, "criterion"},
		{"an unknown link", "criterion: max-min\nvpns: [{name: red, links: [l9]}]", nil, "l9"},
		{"an unknown key", "vpn: []", nil, "vpn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Parse([]byte(c.text))
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
		if p, err := Parse(text); err != nil || p.Name == "" || math.IsNaN(float64(len(p.Weights))) {
			t.Errorf("%s: %+v, %v", n.Name(), p, err)
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

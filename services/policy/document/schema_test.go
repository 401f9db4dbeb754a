package document

import (
	"bytes"
	"encoding"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millrace/millrace/policies"
)

// node is the part of a JSON Schema the comparison looks at.
type node struct {
	Ref         string          `json:"$ref"`
	Description string          `json:"description"`
	Type        string          `json:"type"`
	Enum        []string        `json:"enum"`
	AnyOf       []node          `json:"anyOf"`
	Required    []string        `json:"required"`
	Properties  map[string]node `json:"properties"`
	Items       *node           `json:"items"`
	Minimum     *int            `json:"minimum"`
	Maximum     *int            `json:"maximum"`
	Closed      *bool           `json:"additionalProperties"`
	Defs        map[string]node `json:"$defs"`
}

func TestSchemaAndGoTypesDescribeTheSameFields(t *testing.T) {
	var root node
	if err := json.Unmarshal(policies.Schema, &root); err != nil {
		t.Fatal(err)
	}
	compareStruct(t, "", root, reflect.TypeFor[Policy](), root.Defs)
}

func compareStruct(t *testing.T, path string, s node, goType reflect.Type, defs map[string]node) {
	if s.Closed == nil || *s.Closed {
		t.Errorf("%s: the schema lets unknown fields pass", path)
	}
	var names, required []string
	for _, f := range fieldsOf(goType) {
		names = append(names, f.name)
		if f.required {
			required = append(required, f.name)
		}
		sub, ok := s.Properties[f.name]
		if !ok {
			t.Errorf("%s is not in the schema", at(path, f.name))
			continue
		}
		compareField(t, at(path, f.name), sub, goType.Field(f.index).Type, defs)
	}
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			t.Errorf("%s is in the schema only", at(path, name))
		}
	}
	slices.Sort(required)
	slices.Sort(s.Required)
	if diff := cmp.Diff(s.Required, required); diff != "" {
		t.Errorf("%s: required fields (-schema +Go):\n%s", path, diff)
	}
}

func compareField(t *testing.T, path string, s node, goType reflect.Type, defs map[string]node) {
	if s.Ref != "" {
		s = defs[s.Ref[len("#/$defs/"):]]
	}
	if s.Description == "" {
		t.Errorf("%s has no description in the schema", path)
	}
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	switch {
	case len(s.AnyOf) > 0:
		compareWordOrNumber(t, path, s, goType)
	case len(s.Enum) > 0:
		for _, word := range s.Enum {
			v, ok := reflect.New(goType).Interface().(encoding.TextUnmarshaler)
			if !ok || v.UnmarshalText([]byte(word)) != nil {
				t.Errorf("%s: Go does not take %q", path, word)
			}
		}
	case reflect.PointerTo(goType).Implements(textUnmarshaler):
		compareType(t, path, s.Type, "string")
	case goType.Kind() == reflect.Struct:
		compareType(t, path, s.Type, "object")
		compareStruct(t, path, s, goType, defs)
	case goType.Kind() == reflect.Slice:
		compareType(t, path, s.Type, "array")
		compareField(t, path+"[]", *s.Items, goType.Elem(), defs)
	default:
		compareType(t, path, s.Type, map[reflect.Kind]string{
			reflect.String: "string", reflect.Bool: "boolean", reflect.Uint8: "integer",
		}[goType.Kind()])
	}
}

// compareWordOrNumber is for values that are words in Go's eyes, and may be bare numbers in YAML's.
func compareWordOrNumber(t *testing.T, path string, s node, goType reflect.Type) {
	for _, way := range s.AnyOf {
		way.Description = s.Description
		if way.Type != "integer" {
			compareField(t, path, way, goType, nil)
			continue
		}
		for _, n := range []*int{way.Minimum, way.Maximum} {
			v := reflect.New(goType).Interface().(encoding.TextUnmarshaler)
			if err := v.UnmarshalText([]byte(strconv.Itoa(*n))); err != nil {
				t.Errorf("%s: Go does not take %d: %v", path, *n, err)
			}
		}
	}
}

func compareType(t *testing.T, path, got, want string) {
	if got != want {
		t.Errorf("%s: schema type %q, Go needs %q", path, got, want)
	}
}

func TestSchemaAcceptsTheShippedPoliciesAndRefusesAnUnknownField(t *testing.T) {
	schema := compileSchema(t)
	files, err := policies.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := policies.Files.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance(t, string(raw))); err != nil {
			t.Errorf("%s: %v", file.Name(), err)
		}
	}
	every, err := os.ReadFile("../../../policies/golden/every-word/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(instance(t, string(every))); err != nil {
		t.Errorf("every word: %v", err)
	}
	if err := schema.Validate(instance(t, readShipped(t)+"policer: 1\n")); err == nil {
		t.Error("the schema takes a field that does not exist")
	}
}

// Editors and `millrace policy check` refuse the same. 0 is not the same as a field that is left out.
func TestSchemaAndReaderTakeTheSameValues(t *testing.T) {
	schema := compileSchema(t)
	const text = `policy: NAME
queues:
  - {name: be, id: 0, weight: 5, buffer: 5, priority: high, default: true}
  - {name: bulk, id: 1, weight: 95, buffer: 95, priority: high, max_rate: LIMIT}
redirect:
  - {between: [{source: 192.0.2.0/24, destination: 198.51.100.0/24}], queue: bulk, lsps: [{via: [a, b], weight: WEIGHT}, {via: [a, c, b]}]}
  - {between: [{source: 192.0.2.0/24, destination: 203.0.113.0/24}], queue: bulk, lsp: {min_bandwidth: 1Gbit/s, paths: PATHS}}
`
	good := map[string]string{"NAME": "p", "LIMIT": "100", "WEIGHT": "1", "PATHS": "1"}
	for _, c := range []struct {
		field, value string
		taken        bool
	}{
		{"NAME", strings.Repeat("p", MaxPolicyName), true}, {"NAME", strings.Repeat("p", MaxPolicyName+1), false},
		{"LIMIT", "95", true}, {"LIMIT", "0", false}, {"LIMIT", "101", false},
		{"WEIGHT", "255", true}, {"WEIGHT", "0", false}, {"WEIGHT", "256", false},
		{"PATHS", "16", true}, {"PATHS", "0", false}, {"PATHS", "17", false},
	} {
		file := text
		for field, value := range good {
			if field == c.field {
				value = c.value
			}
			file = strings.Replace(file, field, value, 1)
		}
		_, problems := Parse("p.yaml", file)
		if err := Join(problems); (err == nil) != c.taken {
			t.Errorf("%s %s: the reader says %v", c.field, c.value, err)
		}
		if err := schema.Validate(instance(t, file)); (err == nil) != c.taken {
			t.Errorf("%s %s: the schema says %v", c.field, c.value, err)
		}
	}
}

// elsewhere are fields of DropProfile that only the other of red and wred has.
var elsewhere = map[string]bool{"queues.red.loss_priority": true, "queues.wred.ecn": true}

// Golden policies, all shipped ones among them, take each field through compiler, renderers and agent.
func TestGoldenPoliciesHaveEveryField(t *testing.T) {
	var all []any
	for _, pattern := range []string{"../../../policies/*.yaml", "../../../policies/golden/*/policy.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no policies like %s: %v", pattern, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, instance(t, string(raw)))
		}
	}
	unused(t, "", reflect.TypeFor[Policy](), all)
}

// unused reports the fields of a struct that none of the values has.
func unused(t *testing.T, path string, goType reflect.Type, values []any) {
	for _, f := range fieldsOf(goType) {
		var given []any
		for _, v := range values {
			switch field := v.(map[string]any)[f.name].(type) {
			case nil:
			case []any:
				given = append(given, field...)
			default:
				given = append(given, field)
			}
		}
		if len(given) == 0 && !elsewhere[at(path, f.name)] {
			t.Errorf("no golden policy has %s; write it into policies/golden/every-word/policy.yaml", at(path, f.name))
		}
		inner := goType.Field(f.index).Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && !reflect.PointerTo(inner).Implements(textUnmarshaler) {
			unused(t, at(path, f.name), inner, given)
		}
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(policies.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func instance(t *testing.T, text string) any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var codeSpan = regexp.MustCompile("`[^`\n]+`")

// TestThePageHasEveryField: docs/reference/policies.md names what the schema has.
func TestThePageHasEveryField(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, span := range codeSpan.FindAllString(string(page), -1) {
		for _, word := range regexp.MustCompile(`[a-z_]+`).FindAllString(span, -1) {
			said[word] = true
		}
	}
	var walk func(n node)
	walk = func(n node) {
		for name, sub := range n.Properties {
			if !said[name] {
				t.Errorf("field %s is in policies/schema.json and not in docs/reference/policies.md", name)
			}
			walk(sub)
		}
		if n.Items != nil {
			walk(*n.Items)
		}
		for _, sub := range n.AnyOf {
			walk(sub)
		}
		for _, sub := range n.Defs {
			walk(sub)
		}
	}
	var root node
	if err := json.Unmarshal(policies.Schema, &root); err != nil {
		t.Fatal(err)
	}
	walk(root)
}

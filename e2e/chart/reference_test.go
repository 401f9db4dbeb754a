package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

const page = "../../docs/reference/helm.md"

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// value is a row of the page.
type value struct{ key, standard, meaning string }

// valueTable reads values.yaml: comments directly above a key explain it.
func valueTable(text string) (out []value) {
	line := regexp.MustCompile(`^( *)([A-Za-z]+):(?: (.*))?$`)
	var path []string
	var comment []string
	for _, l := range strings.Split(text, "\n") {
		if c, is := strings.CutPrefix(strings.TrimSpace(l), "# "); is {
			comment = append(comment, c)
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			comment = nil
			continue
		}
		path = append(path[:len(m[1])/2], m[2])
		if len(comment) > 0 {
			out = append(out, value{strings.Join(path, "."), m[3], strings.Join(comment, " ")})
		}
		comment = nil
	}
	return out
}

// The table between the marks of the page is that of values.yaml.
func TestReferencePage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| value | default | meaning |\n|---|---|---|\n")
	for _, v := range valueTable(read(t, filepath.Join(folder, "values.yaml"))) {
		standard := "below"
		if v.standard != "" {
			standard = "`" + v.standard + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", v.key, standard, v.meaning)
	}
	const begin, end = "<!-- values -->\n", "<!-- /values -->\n"
	text := read(t, page)
	before, rest, found := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no marks %q and %q", page, begin, end)
	}
	want := before + begin + table.String() + end + after
	if *rewrite {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(text, want); d != "" {
		t.Errorf("%s is not what values.yaml says; with -rewrite it is written:\n%s", page, d)
	}
}

type schema struct {
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties any                `json:"additionalProperties"`
}

// leaves are the keys of a tree of values; what the operator fills in has none.
func leaves(tree map[string]any, below string) (out []string) {
	for k, v := range tree {
		if m, is := v.(map[string]any); is && len(m) > 0 && k != "resources" && k != "resourcesOf" {
			out = append(out, leaves(m, below+k+".")...)
			continue
		}
		out = append(out, below+k)
	}
	return out
}

// Every value is in the schema, and has a line in the page.
func TestSchemaHasEveryValue(t *testing.T) {
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(folder, "values.yaml"))), &values); err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal([]byte(read(t, filepath.Join(folder, "values.schema.json"))), &root); err != nil {
		t.Fatal(err)
	}
	var explained []string
	for _, v := range valueTable(read(t, filepath.Join(folder, "values.yaml"))) {
		explained = append(explained, v.key)
	}
	for _, key := range leaves(values, "") {
		if !slices.Contains(explained, key) {
			t.Errorf("%s has no comment in values.yaml", key)
		}
		at := &root
		for _, step := range strings.Split(key, ".") {
			if at.AdditionalProperties != false || at.Properties[step] == nil {
				t.Errorf("%s: %s is not in the schema, or something else is allowed beside it", key, step)
				break
			}
			at = at.Properties[step]
		}
	}
}

// The sections of millrace.yaml that the schema allows are those that the program knows.
func TestSchemaKnowsEverySection(t *testing.T) {
	var root schema
	if err := json.Unmarshal([]byte(read(t, filepath.Join(folder, "values.schema.json"))), &root); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^(?:## |\\| )`([a-z_]+)[.`]").FindAllStringSubmatch(topLevel(t), -1) {
		known[m[1]] = true
	}
	for _, own := range []string{"data_dir", "endpoints", "installation", "inventory"} { // the chart writes these itself
		if !known[own] {
			t.Errorf("the program knows no %s", own)
		}
		delete(known, own)
	}
	allowed := map[string]bool{}
	for k := range root.Properties["config"].Properties {
		allowed[k] = true
	}
	if d := cmp.Diff(allowed, known); d != "" {
		t.Errorf("sections (-schema +program):\n%s", d)
	}
}

// topLevel is the table of docs/reference/configuration.md that has millrace.yaml's own keys, and the titles of all
// services' sections.
func topLevel(t *testing.T) string {
	t.Helper()
	page := read(t, "../../docs/reference/configuration.md")
	table, _, found := strings.Cut(page, "\n## `")
	if !found {
		t.Fatal("docs/reference/configuration.md has no section of a service")
	}
	return table + "\n" + strings.Join(regexp.MustCompile("(?m)^## `.*$").FindAllString(page, -1), "\n")
}

package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/testkit/yangtest"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/policytest"
	"github.com/millrace/millrace/services/policy/render/openconfig"
)

// yangDir is the OpenConfig release v5.9.0.
func yangDir(t *testing.T) string {
	t.Helper()
	return yangtest.Dir(t, "openconfig", "release/models/qos/openconfig-qos.yang")
}

// yanglint validates files of configuration; it loads the models once for all, which takes some seconds.
func yanglint(t *testing.T, dir string, files ...string) (string, error) {
	t.Helper()
	// -i makes imported modules implemented, without which network-instance does not load (gnmi.md section 2.4).
	args := []string{"-i", "-t", "config", "-p", "../../yang"}
	folders, err := os.ReadDir(dir + "/release/models")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if f.IsDir() {
			args = append(args, "-p", filepath.Join(dir, "release/models", f.Name()))
		}
	}
	args = append(args, "-p", dir+"/release/models", "-p", dir+"/third_party/ietf")
	for _, m := range []string{
		"defined-sets/openconfig-defined-sets", "qos/openconfig-qos", "qos/openconfig-qos-types", "interfaces/openconfig-interfaces",
		"network-instance/openconfig-network-instance", "network-instance/openconfig-network-instance-types", "mpls/openconfig-mpls", "mpls/openconfig-mpls-types", "policy-forwarding/openconfig-policy-forwarding",
	} {
		args = append(args, dir+"/release/models/"+m+".yang")
	}
	args = append(args, dir+"/third_party/ietf/iana-if-type.yang", "../../yang/te-qos-ext.yang", "../../yang/te-lsp-ext.yang")
	return yangtest.Run(t, append(args, files...)...)
}

// write puts a document into a file of its own.
func write(t *testing.T, dir, name string, document []byte) string {
	t.Helper()
	file := filepath.Join(dir, name+".json")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRenderedEntriesAreValidOpenConfig(t *testing.T) {
	models, dir := yangDir(t), t.TempDir()
	var files []string
	for _, name := range policytest.Names(t) {
		result, err := compile.Compile(policytest.Read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, plan := range result.Plans {
			files = append(files, write(t, dir, name+"-"+plan.Router, wholeConfig(t, plan)))
		}
	}
	if _, err := yanglint(t, models, files...); err == nil {
		return
	}
	for _, file := range files { // one by one, because yanglint does not say which file it means
		if out, err := yanglint(t, models, file); err != nil {
			t.Errorf("yanglint: %s: %v\n%s", filepath.Base(file), err, out)
		}
	}
	if !t.Failed() {
		t.Errorf("yanglint refuses %d files together and none alone", len(files))
	}
}

// The check above can fail: one file among valid ones, with a rule that names a class which is not there.
func TestTheModelCatchesADanglingReference(t *testing.T) {
	models, dir := yangDir(t), t.TempDir()
	result, err := compile.Compile(policytest.Read(t, "hntes-redirect"))
	if err != nil {
		t.Fatal(err)
	}
	right := wholeConfig(t, result.Plans[0])
	wrong := strings.Replace(string(right), `"qos-forwarding-group": "te-alpha"`, `"qos-forwarding-group": "te-gamma"`, 1)
	files := []string{write(t, dir, "before", right), write(t, dir, "wrong", []byte(wrong)), write(t, dir, "after", right)}
	if out, err := yanglint(t, models, files...); err == nil {
		t.Errorf("yanglint accepts a dangling forwarding group:\n%s", out)
	}
}

// wholeConfig is a router's whole configuration: the entries, and the interfaces they refer to.
func wholeConfig(t *testing.T, plan compile.RouterPlan) []byte {
	t.Helper()
	list, err := openconfig.Entries(plan)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	for _, u := range list {
		entries[u.Path] = u.Body
	}
	part := func(i int) map[string]any {
		raw, err := configentry.Assemble(configentry.Roots()[i], entries)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]any{}
		if raw == nil {
			return out
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	raw, err := json.MarshalIndent(map[string]any{
		"openconfig-defined-sets:defined-sets": part(0),
		"openconfig-qos:qos":                   part(1),
		"openconfig-interfaces:interfaces":     map[string]any{"interface": interfaces(plan)},
		"openconfig-network-instance:network-instances": map[string]any{"network-instance": []any{map[string]any{
			"name":              "DEFAULT",
			"config":            map[string]any{"name": "DEFAULT", "type": "openconfig-network-instance-types:DEFAULT_INSTANCE"},
			"mpls":              map[string]any{"lsps": map[string]any{"constrained-path": part(2)}},
			"policy-forwarding": part(3),
		}}},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func interfaces(plan compile.RouterPlan) []any {
	names := map[string]bool{}
	for _, p := range plan.Ports {
		names[p.Interface] = true
	}
	for _, f := range plan.Filters {
		for _, i := range f.Interfaces {
			names[i] = true
		}
	}
	var out []any
	for name := range names {
		out = append(out, map[string]any{"name": name, "config": map[string]any{"name": name, "type": "iana-if-type:ethernetCsmacd"}})
	}
	return out
}

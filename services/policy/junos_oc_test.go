package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/testkit/yangtest"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/policytest"
	"github.com/millrace/millrace/services/policy/render/openconfig"
)

var (
	lineComment = regexp.MustCompile(`//[^\n]*`)
	deviation   = regexp.MustCompile(`deviation\s+("[^"]*"(?:\s*\+\s*"[^"]*")*|[^\s{"]+)\s*\{((?:[^{}]|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})*)\}`)
	quotedPart  = regexp.MustCompile(`"([^"]*)"`)
)

// notSupported are the deviations of Juniper's module for 24.4R1 that take nodes away, with prefixes.
func notSupported(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(yangtest.Dir(t, "junos-openconfig", "jnx-openconfig-dev.yang"), "jnx-openconfig-dev.yang"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range deviation.FindAllStringSubmatch(lineComment.ReplaceAllString(string(raw), ""), -1) {
		path := m[1]
		if strings.HasPrefix(path, `"`) {
			path = ""
			for _, part := range quotedPart.FindAllStringSubmatch(m[1], -1) {
				path += part[1]
			}
		}
		if strings.Contains(m[2], "not-supported") {
			out = append(out, path)
		}
	}
	if len(out) != 798 {
		t.Errorf("%d not-supported deviations, want 798: the module is not that of 24.4R1, or is not read whole", len(out))
	}
	return out
}

var prefix = regexp.MustCompile(`/[a-z0-9-]+:`)

func plain(path string) string { return prefix.ReplaceAllString(path, "/") }

func TestTheDenyListIsJunipers(t *testing.T) {
	theirs := map[string]bool{}
	for _, path := range notSupported(t) {
		theirs[plain(path)] = true
	}
	for _, d := range policytest.DeniedPaths() {
		if (d.Why == "deviation") != theirs[d.Path] {
			t.Errorf("%s: the list says %s; Juniper deviates it: %t", d.Path, d.Why, theirs[d.Path])
		}
	}
}

// junosParts are all golden plans as far as OpenConfig goes.
func junosParts(t *testing.T, each func(name string, plan compile.RouterPlan, entries []configentry.Entry, left []string)) {
	t.Helper()
	for _, name := range policytest.Names(t) {
		result, err := compile.Compile(policytest.Read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, plan := range result.Plans {
			entries, left, err := policytest.JunosOpenConfig(plan)
			if err != nil {
				t.Fatal(err)
			}
			each(name+"/"+plan.Router, plan, entries, left)
		}
	}
}

// No leaf that passes the deny-list is at or below a node that Juniper takes away.
func TestWhatPassesTheDenyListIsNotDeviatedAway(t *testing.T) {
	theirs, leaves := map[string]bool{}, map[string]bool{}
	for _, path := range notSupported(t) {
		theirs[plain(path)] = true
	}
	junosParts(t, func(_ string, _ compile.RouterPlan, entries []configentry.Entry, _ []string) {
		for _, u := range entries {
			var v any
			if err := json.Unmarshal([]byte(u.Body), &v); err != nil {
				t.Fatal(err)
			}
			collect(v, policytest.SchemaPath(u.Path), leaves)
		}
	})
	if len(leaves) < 20 {
		t.Fatalf("only %d leaves are left", len(leaves))
	}
	for leaf := range leaves {
		if strings.Contains(leaf, "te-qos-ext:") {
			t.Errorf("%s is our own and no OpenConfig", leaf)
		}
		for path := leaf; path != "/" && path != "."; path = filepath.Dir(path) {
			if theirs[path] {
				t.Errorf("%s is not supported on Junos (%s)", leaf, path)
			}
		}
	}
}

func collect(v any, at string, leaves map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			collect(each, at, leaves)
		}
	case map[string]any:
		for name, inner := range v {
			collect(inner, at+"/"+name, leaves)
		}
	default:
		leaves[at] = true
	}
}

// Every shipped policy has parts that OpenConfig cannot say on Junos: the reason why text is what is sent.
func TestNoPlanIsWhollyOpenConfigOnJunos(t *testing.T) {
	junosParts(t, func(name string, _ compile.RouterPlan, entries []configentry.Entry, left []string) {
		if len(left) == 0 || len(entries) == 0 {
			t.Errorf("%s: %d entries, left: %v", name, len(entries), left)
		}
	})
}

// deviatedModels loads the published models with Juniper's deviations of the
// subtrees we write, without those that take list keys' targets away (gnmi.md section 2.4).
func deviatedModels(t *testing.T) []string {
	t.Helper()
	dir := yangDir(t)
	listKeys := regexp.MustCompile(`(queue|voq-interface|scheduler|term)/oc-qos:(config|state)$`)
	module := "module junos-deviations {\n  namespace \"urn:junos-deviations\";\n  prefix jd;\n  import openconfig-qos { prefix oc-qos; }\n  import openconfig-network-instance { prefix oc-ni; }\n"
	n := 0
	for _, path := range notSupported(t) {
		ours := strings.HasPrefix(path, "/oc-qos:") || strings.Contains(path, "oc-ni:constrained-path") ||
			(strings.Contains(path, "oc-ni:policy-forwarding") && !strings.Contains(path, "oc-ni:afts"))
		if ours && !listKeys.MatchString(path) {
			module += fmt.Sprintf("  deviation %q { deviate not-supported; }\n", path)
			n++
		}
	}
	if n != 121 {
		t.Errorf("%d deviations concern what we write, want 121", n)
	}
	file := filepath.Join(t.TempDir(), "junos-deviations.yang")
	if err := os.WriteFile(file, []byte(module+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-i", "-t", "config", "-p", "../../yang"}
	folders, err := filepath.Glob(dir + "/release/models/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if info, err := os.Stat(f); err == nil && info.IsDir() {
			args = append(args, "-p", f)
		}
	}
	args = append(args, "-p", dir+"/release/models", "-p", dir+"/third_party/ietf")
	for _, m := range []string{"defined-sets/openconfig-defined-sets", "qos/openconfig-qos", "interfaces/openconfig-interfaces", "network-instance/openconfig-network-instance", "network-instance/openconfig-network-instance-types"} {
		args = append(args, dir+"/release/models/"+m+".yang")
	}
	return append(args, dir+"/third_party/ietf/iana-if-type.yang", "../../yang/te-qos-ext.yang", file)
}

// With Juniper's deviations on the models, what passes the deny-list is valid, and the whole plan is not.
func TestTheOpenConfigPartIsValidWithJunipersDeviations(t *testing.T) {
	args, dir := deviatedModels(t), t.TempDir()
	var whole []string
	junosParts(t, func(name string, plan compile.RouterPlan, entries []configentry.Entry, _ []string) {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".json")
		if err := os.WriteFile(file, documentOf(t, plan, entries), 0o600); err != nil {
			t.Fatal(err)
		}
		whole = append(whole, file)
	})
	if out, err := yangtest.Run(t, append(slices.Clone(args), whole...)...); err != nil {
		t.Errorf("yanglint: %v\n%s", err, out)
	}
	result, err := compile.Compile(policytest.Read(t, "hntes-redirect"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := openconfig.Entries(result.Plans[0])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "all.json")
	if err := os.WriteFile(file, documentOf(t, result.Plans[0], entries), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := yangtest.Run(t, append(slices.Clone(args), file)...); err == nil {
		t.Errorf("yanglint accepts a whole plan for Junos:\n%s", out)
	}
}

// documentOf is a router's configuration of some entries, and the interfaces they refer to.
func documentOf(t *testing.T, plan compile.RouterPlan, list []configentry.Entry) []byte {
	t.Helper()
	entries := map[string]string{}
	for _, u := range list {
		entries[u.Path] = u.Body
	}
	out := map[string]any{"openconfig-interfaces:interfaces": map[string]any{"interface": interfaces(plan)}}
	instance := map[string]any{
		"name":   "DEFAULT",
		"config": map[string]any{"name": "DEFAULT", "type": "openconfig-network-instance-types:DEFAULT_INSTANCE"},
	}
	for _, root := range configentry.Roots() {
		raw, err := configentry.Assemble(root, entries)
		if err != nil {
			t.Fatal(err)
		}
		if raw == nil {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasSuffix(root, "/constrained-path"):
			instance["mpls"] = map[string]any{"lsps": map[string]any{"constrained-path": v}}
		case strings.HasSuffix(root, "/policy-forwarding"):
			instance["policy-forwarding"] = v
		default:
			name := strings.TrimPrefix(root, "/")
			out["openconfig-"+name+":"+name] = v
		}
	}
	out["openconfig-network-instance:network-instances"] = map[string]any{"network-instance": []any{instance}}
	raw, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

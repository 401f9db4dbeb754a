// Package watch runs what a NOC looks at, the rules and boards of deploy/, with the programs that will run them.
//
// In: deploy/prometheus, deploy/grafana, docs/runbooks, docs/reference/metrics.md, Debian's prometheus.
// Out: verdicts of promtool, and answers of a Prometheus that scrapes a live control plane.
// Next: the NOC.
package watch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const root = "../.."

// rule is one of a rule file.
type rule struct {
	Record, Alert, Expr string
	Labels              map[string]string
	Annotations         map[string]string
}

// rules are those of all rule files.
func rules(t *testing.T) (all []rule) {
	t.Helper()
	for _, file := range ruleFiles(t) {
		var f struct {
			Groups []struct {
				Name  string
				Rules []rule
			}
		}
		raw, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(raw, &f)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, g := range f.Groups {
			all = append(all, g.Rules...)
		}
	}
	if len(all) == 0 {
		t.Fatal("no rules")
	}
	return all
}

func ruleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(root + "/deploy/prometheus/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("rule files: %v, %v", files, err)
	}
	return files
}

// TestRulesAreValid has promtool read them, with its linter.
func TestRulesAreValid(t *testing.T) {
	promtool(t, append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, ruleFiles(t)...)...)
}

// TestAlertsFireAndDoNot runs deploy/prometheus/tests, and holds that each alert has a test of both.
func TestAlertsFireAndDoNot(t *testing.T) {
	files, err := filepath.Glob(root + "/deploy/prometheus/tests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	promtool(t, append([]string{"test", "rules"}, files...)...)
	text := ""
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text += string(raw)
	}
	for _, r := range rules(t) {
		for _, what := range []string{" fires\n", " does not fire\n"} {
			if r.Alert != "" && !strings.Contains(text, "- name: "+r.Alert+what) {
				t.Errorf("no test of %s%s", r.Alert, what)
			}
		}
	}
}

func promtool(t *testing.T, arguments ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "promtool", arguments...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(arguments[:2], " "), err, out)
	}
}

// TestEveryAlertHasARunbook, and every runbook an alert.
func TestEveryAlertHasARunbook(t *testing.T) {
	var want []string
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		page := "docs/runbooks/" + r.Alert + ".md"
		want = append(want, r.Alert+".md")
		if r.Annotations["runbook"] != page {
			t.Errorf("%s names the runbook %q, want %s", r.Alert, r.Annotations["runbook"], page)
		}
		if !slices.Contains([]string{"info", "warning", "critical"}, r.Labels["severity"]) {
			t.Errorf("%s has severity %q", r.Alert, r.Labels["severity"])
		}
		raw, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, part := range []string{"# " + r.Alert, "## What it means", "## What to look at", "## What to do", strings.TrimSpace(r.Expr)} {
			if !strings.Contains(string(raw), part) {
				t.Errorf("%s lacks %q", page, part)
			}
		}
	}
	pages, err := filepath.Glob(root + "/docs/runbooks/Millrace*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if !slices.Contains(want, filepath.Base(p)) {
			t.Errorf("%s is of no alert", p)
		}
	}
}

var (
	metricName = regexp.MustCompile(`\bmillrace_[a-z0-9_]+`)
	recordName = regexp.MustCompile(`\bmillrace:[a-z0-9_:]+`)
	listedName = regexp.MustCompile("(?m)^\\| `(millrace_[a-z0-9_]+)` \\| ([a-z]+) \\|")
)

// listed are the metrics of docs/reference/metrics.md by their type.
func listed(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(root + "/docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range listedName.FindAllStringSubmatch(string(raw), -1) {
		all[m[1]] = m[2]
		if m[2] == "histogram" {
			all[m[1]+"_bucket"], all[m[1]+"_count"], all[m[1]+"_sum"] = m[2], m[2], m[2]
		}
	}
	return all
}

// unknownNames are the metrics and recording rules that an expression names and nobody has.
func unknownNames(t *testing.T, expression string) (unknown []string) {
	t.Helper()
	known := listed(t)
	var records []string
	for _, r := range rules(t) {
		records = append(records, r.Record)
	}
	for _, name := range metricName.FindAllString(expression, -1) {
		if known[name] == "" {
			unknown = append(unknown, name)
		}
	}
	for _, name := range recordName.FindAllString(expression, -1) {
		if !slices.Contains(records, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// TestRulesNameMetricsThatExist by the page of all metrics, which is made from what all parts register.
func TestRulesNameMetricsThatExist(t *testing.T) {
	for _, r := range rules(t) {
		if unknown := unknownNames(t, r.Expr); unknown != nil {
			t.Errorf("%s%s names %v, which nobody has", r.Record, r.Alert, unknown)
		}
	}
}

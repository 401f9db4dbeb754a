package main

import (
	"cmp"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const chartTemplates = "../../deploy/helm/millrace/templates/"

// quoted are the words in quotation marks behind a mark in a file.
func quoted(t *testing.T, file, mark string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), mark)
	line, _, _ := strings.Cut(rest, "}}\n")
	if !found {
		t.Fatalf("%s has no %q", file, mark)
	}
	var words []string
	for _, w := range regexp.MustCompile(`"([a-z]+)"`).FindAllStringSubmatch(line, -1) {
		words = append(words, w[1])
	}
	return words
}

// TestChartHasEveryService: a service that the chart forgets runs nowhere in an installation of parts.
func TestChartHasEveryService(t *testing.T) {
	want := slices.DeleteFunc(serviceNames(), func(name string) bool { return name == "nsi" })
	slices.Sort(want)
	if d := gocmp.Diff(quoted(t, chartTemplates+"_parts.tpl", `define "millrace.services" -}}`), want); d != "" {
		t.Errorf("services of the chart (-chart +binary):\n%s", d)
	}
}

// TestRoutersKeyLiesWhereItIsUsed: in the process, and in the chart.
func TestRoutersKeyLiesWhereItIsUsed(t *testing.T) {
	wiring, err := os.ReadFile("wiring.go")
	if err != nil {
		t.Fatal(err)
	}
	var dial, use []string
	for _, s := range services() {
		if s.dials {
			dial = append(dial, s.name)
		}
	}
	for _, f := range strings.Split(string(wiring), "\nfunc build")[1:] {
		if name, _, _ := strings.Cut(f, "("); strings.Contains(f, "p.tls") {
			use = append(use, strings.ToLower(name))
		}
	}
	slices.Sort(dial)
	slices.Sort(use)
	if d := gocmp.Diff(dial, use); d != "" || len(use) == 0 {
		t.Errorf("services with dials, and those that are built with the key (-dials +built):\n%s", d)
	}
	if d := gocmp.Diff(quoted(t, chartTemplates+"_helpers.tpl", `$v.inventoryTLSSecret (has $service (list ""`), dial); d != "" {
		t.Errorf("pods that have the key (-chart +binary):\n%s", d)
	}
}

// TestChartKnowsTheMemoryOfParts: a pod whose limit is below it ends under load.
func TestChartKnowsTheMemoryOfParts(t *testing.T) {
	raw, err := os.ReadFile(chartTemplates + "_parts.tpl")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), `define "millrace.memoryOfParts" -}}`)
	rest, _, _ = strings.Cut(rest, "{{- end -}}")
	var of map[string]int64
	if err := json.Unmarshal([]byte(rest), &of); err != nil {
		t.Fatal(err)
	}
	cfg := defaultConfig(t.TempDir())
	cfg.Kafka.Brokers = []string{"a:9093"}
	for _, name := range serviceNames() {
		octets := memoryLimit(memoryParts(cfg, func(service string) bool { return service == name }))
		if has := cmp.Or(of[name], of["others"]); has != (octets+1<<20-1)>>20 {
			t.Errorf("%s: the chart has %d MiB, the process %d octets", name, has, octets)
		}
	}
}

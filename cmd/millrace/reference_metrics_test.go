package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// TestEveryMetricHasARow compares the page with what all parts register.
func TestEveryMetricHasARow(t *testing.T) {
	all, err := allMetrics()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("%d metrics: a part is missing", len(all))
	}
	var want bytes.Buffer
	writeMetrics(&want, all)
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, want.Bytes()) {
		t.Error("docs/reference/metrics.md is not current: go run ./cmd/millrace reference metrics > docs/reference/metrics.md")
	}
}

// TestMetricsFollowTheRules runs Prometheus' own linter over every metric, also those without a value yet.
func TestMetricsFollowTheRules(t *testing.T) {
	all, err := allMetrics()
	if err != nil {
		t.Fatal(err)
	}
	var families []*dto.MetricFamily
	for _, m := range all {
		kind := dto.MetricType(dto.MetricType_value[strings.ToUpper(m.kind)])
		families = append(families, &dto.MetricFamily{Name: &m.name, Help: &m.help, Type: &kind, Metric: []*dto.Metric{{}}})
		if m.help == "" {
			t.Errorf("%s has no meaning", m.name)
		}
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestEveryLabelIsBounded: a label has a row that says what bounds it, and no row is of no label.
func TestEveryLabelIsBounded(t *testing.T) {
	all, err := allMetrics()
	if err != nil {
		t.Fatal(err)
	}
	var used, known []string
	for _, m := range all {
		used = append(used, m.labels...)
	}
	for _, l := range labelBounds {
		known = append(known, l.name)
	}
	slices.Sort(used)
	if used = slices.Compact(used); !slices.Equal(used, known) {
		t.Errorf("labels used:\n%v\nlabels with a row:\n%v", used, known)
	}
}

package qos

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/scenario"
)

// preamble begins docs/reference/lab-results.md.
const preamble = `# Lab results

Written by ` + "`make e2e`" + `; do not edit. Every expectation of every scenario in ` + "`scenario/files`" + `, with what was measured on virtual routers (scaled 1:100
unless a scenario says otherwise), what was expected and what was published. *observed* rows are reported and not judged, each with the reason below its table.
Bounds stand in the scenario files, with their sources.

| scenario | met | not met | observed | run (UTC) | seconds | kernel |
|---|---|---|---|---|---|---|
`

// Markdown is the page of all results.
func Markdown(results []*Result) string {
	var b strings.Builder
	b.WriteString(preamble)
	for _, r := range results {
		met, unmet, observed := tally(r.Verdicts)
		fmt.Fprintf(&b, "| [%s](#%s) | %d | %d | %d | %s | %.0f | %s |\n", r.Scenario, anchor(r.Scenario), met, unmet, observed, r.Started.UTC().Format("2006-01-02 15:04"), r.Seconds, r.Backend)
	}
	for _, r := range results {
		r.section(&b)
	}
	return b.String()
}

func tally(verdicts []scenario.Verdict) (met, unmet, observed int) {
	for _, v := range verdicts {
		switch {
		case v.Observed != "":
			observed++
		case v.Pass:
			met++
		default:
			unmet++
		}
	}
	return met, unmet, observed
}

// anchor is how Markdown renderers name a heading's link.
func anchor(heading string) string { return strings.ReplaceAll(heading, ".", "") }

func (r *Result) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", r.Scenario, strings.TrimSpace(r.Description))
	if r.Scale != "" {
		fmt.Fprintf(b, "Scale: %s\n\n", strings.TrimSpace(r.Scale))
	}
	fmt.Fprintf(b, "| claim | measured | expected | published | verdict | source |\n|---|---|---|---|---|---|\n")
	var reasons []string
	for _, v := range r.Verdicts {
		result := v.Result()
		if v.Observed != "" {
			reasons = append(reasons, fmt.Sprintf("- *%s*: %s", cell(v.Name), strings.TrimSpace(v.Observed)))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", cell(v.Name), cell(measured(v)), cell(v.Bound()), cell(v.Paper), result, cell(v.Source))
	}
	if len(reasons) > 0 {
		fmt.Fprintf(b, "\nObserved, not judged:\n\n%s\n", strings.Join(reasons, "\n"))
	}
}

func cell(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "|", "\\|") }

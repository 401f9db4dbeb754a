package i2vfc

import (
	"fmt"
	"strings"
)

// preamble begins docs/reference/vpn-results.md.
const preamble = `# VPNs that share a core: what the lab measured

Written by ` + "`millrace lab vpn`" + `; do not edit. Paper 001's experiments on virtual routers (User-Mode Linux): FRR BGP/MPLS L3VPNs, Reno in the hosts, with and
without ` + "`millrace pe`" + ` on the PEs. Verdicts are on medians; bounds stand in the scenario files, with their sources. *inter-VPN F* is paper 001's weighted
index of the VPNs' goodput (its spans as in the paper's figure), *intra* that of the connections inside VPNs, *converged* the seconds from the
start until F of 5 s stays above 0.95.
`

// Markdown is the page of all reports.
func Markdown(all []*Report) string {
	var b strings.Builder
	b.WriteString(preamble)
	for _, r := range all {
		r.section(&b)
	}
	return b.String()
}

func (r *Report) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", r.Scenario, strings.TrimSpace(r.Description))
	if r.Scale != "" {
		fmt.Fprintf(b, "Scale: %s\n\n", strings.TrimSpace(r.Scale))
	}
	fmt.Fprintf(b, "| claim | measured | expected | paper | verdict | source |\n|---|---|---|---|---|---|\n")
	var reasons []string
	for _, v := range r.Verdicts {
		got := fmt.Sprintf("%.3g", v.Got)
		if v.Skipped != "" {
			got = "–"
		}
		if v.Observed != "" {
			reasons = append(reasons, "- *"+v.Name+"*: "+strings.TrimSpace(v.Observed))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", v.Name, got, v.Bound(), v.Paper, v.Result(), v.Source)
	}
	if len(reasons) > 0 {
		fmt.Fprintf(b, "\nObserved, not judged:\n\n%s\n", strings.Join(reasons, "\n"))
	}
	fmt.Fprintf(b, "\nMedian (range) of all runs; F of 5 s over time of the last run:\n\n")
	fmt.Fprintf(b, "| run | n | mode | inter-VPN F | intra | goodput, Mbit/s | converged, s | last run (UTC) | F over time |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range r.Cells {
		c.row(b)
	}
	r.distributions(b)
}

// many runs of a cell have a distribution; of fewer the range says as much.
const many = 5

// distributions lists every run of the cells with many.
func (r *Report) distributions(b *strings.Builder) {
	var rows []string
	for _, c := range r.Cells {
		if len(c.Runs) < many {
			continue
		}
		row := fmt.Sprintf("| %s | %d |", c.Name, len(c.Runs))
		for _, of := range []struct{ statistic, format string }{{"inter_f", " %.3f"}, {"intra_f", " %.3f"}, {"converged_s", " %.0f"}} {
			if all := c.sorted(statistics[of.statistic]); all[len(all)-1] > 0 || of.statistic == "converged_s" {
				for _, x := range all {
					row += fmt.Sprintf(of.format, x)
				}
			}
			row += " |"
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		fmt.Fprintf(b, "\nEvery run, sorted:\n\n| run | n | inter-VPN F | intra | converged, s |\n|---|---|---|---|---|\n%s\n", strings.Join(rows, "\n"))
	}
}

func (c Cell) row(b *strings.Builder) {
	last := c.Runs[len(c.Runs)-1]
	fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s | %s | %s |", c.Name, len(c.Runs), last.Mode, c.text("inter_f", "%.3f"), c.text("intra_f", "%.3f"),
		c.text("goodput_mbps", "%.1f"), c.text("converged_s", "%.0f"), last.Started.Format("2006-01-02 15:04"))
	for _, f := range last.F {
		fmt.Fprintf(b, " %.2f", f)
	}
	b.WriteString(" |\n")
}

func (c Cell) text(statistic, format string) string {
	middle, low, high := c.median(statistics[statistic])
	switch {
	case statistic == "intra_f" && high == 0:
		return ""
	case len(c.Runs) == 1:
		return fmt.Sprintf(format, middle)
	}
	return fmt.Sprintf(format+" ("+format+"–"+format+")", middle, low, high)
}

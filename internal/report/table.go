package report

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table prints the before/after table and the verdict of every check.
func (r *Report) Table(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tidle\tday one (before)\tday two (after)\t")
	p := r.PingMS
	row := func(name, format string, idle, one, two any) {
		fmt.Fprintf(t, "%s\t"+format+"\t"+format+"\t"+format+"\t\n", name, idle, one, two)
	}
	row("ping mean, ms", "%.2f", p.Idle.Mean, p.Day1.Mean, p.Day2.Mean)
	row("ping 99 %, ms", "%.2f", p.Idle.P99, p.Day1.P99, p.Day2.P99)
	row("ping sd, ms", "%.2f", p.Idle.SD, p.Day1.SD, p.Day2.SD)
	row("ping lost", "%d", p.Idle.Lost, p.Day1.Lost, p.Day2.Lost)
	fmt.Fprintf(t, "alpha goodput, Mbit/s\t\t%.1f\t%.1f\t\n", r.AlphaGoodputMbps.Day1, r.AlphaGoodputMbps.Day2)
	t.Flush()
	fmt.Fprintln(w)
	for _, c := range r.Checks {
		mark := "ok  "
		if !c.Pass {
			mark = "FAIL"
		}
		fmt.Fprintf(w, "  %s  %-44s %s (%s)\n", mark, c.Name, c.Measured, c.Bound)
	}
}

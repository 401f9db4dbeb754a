package qos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/millrace/millrace/scenario"
)

// Print writes the table of verdicts.
func (r *Result) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, phase := range slices.Sorted(maps.Keys(r.Skipped)) {
		fmt.Fprintf(t, "phase %s left out: it requires %s\n", phase, r.Skipped[phase])
	}
	fmt.Fprintln(t, "EXPECTATION\tMEASURED\tEXPECTED\tPUBLISHED\tRESULT\tSOURCE")
	for _, v := range r.Verdicts {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", v.Name, measured(v), v.Bound(), v.Paper, v.Result(), v.Source)
	}
	return t.Flush()
}

func measured(v scenario.Verdict) string {
	if v.Skipped != "" {
		return v.Skipped
	}
	return fmt.Sprintf("%.5g", v.Got)
}

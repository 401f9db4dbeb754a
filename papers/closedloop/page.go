package closedloop

import (
	"fmt"
	"strings"
)

// Page is the page of the documentation.
func (r *Result) Page() string {
	var b strings.Builder
	b.WriteString(`# The split in the twin

Written by ` + "`millrace papers loop --page docs/reference/split-twin.md`" + `; do not edit. What the law of [the split](split.md#the-law) makes of the load, beside the fixed splits of paper 002 (alpha/beta of
rate and buffer): the testbed of section III-A at 10 Gbit/s, packet by packet. The loop begins at 95/5. Alpha and beta are payload carried; loss is of beta's UDP, and
ping goes through beta's queue. Experiment 6's TCP runs from second 3; figures are from second 8 on. The day has 48 s, and the law's clock runs as much
faster; beta offers 0.4 Gbit/s at 03:00 and 3 at 15:00, alpha is there all day, and the law has seen three such days. 60/40 is the least fixed split, by tens, that suffices for the day's peak.

`)
	last := ""
	for _, row := range r.Rows {
		if row.Load != last {
			if last != "" {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "## %s\n\n| split | alpha Gbit/s | beta Gbit/s | loss %% | worst hour %% | ping ms | longest | moves | beta's share |\n|---|---|---|---|---|---|---|---|---|\n", title(row.Load))
			last = row.Load
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.3g | %.3g | %.2f | %.2f | %d | %s |\n", row.Split, row.Alpha, row.Beta, row.Loss, row.Worst, row.Ping, row.PingMost, row.Moves, row.Shares())
	}
	b.WriteString("\n## The loop beside each fixed split\n\n| load | split | beta | alpha Gbit/s | beta Gbit/s |\n|---|---|---|---|---|\n")
	for _, f := range r.Findings {
		worse := "never worse"
		if !f.NeverWorse {
			worse = "**worse**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %+.2f | %+.2f |\n", f.Load, f.Fixed, worse, f.Alpha, f.Beta)
	}
	b.WriteString(`
*Never worse*: in no hour more loss than under the fixed split, by more than 0.01 points; the mean ping no longer by more than 0.05 ms, the longest by no more than 1 ms. Where queues lend, alpha has
less than under a split that starves beta by exactly what beta no longer loses: every byte that the port sends is one or the other's. Alpha has more only
beside a split that protects beta as well, where no queue lends.
`)
	return b.String()
}

func title(load string) string { return strings.ToUpper(load[:1]) + load[1:] }

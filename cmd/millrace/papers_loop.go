package main

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/papers/closedloop"
)

func papersLoopCommand() *cobra.Command {
	var o closedloop.Options
	var page string
	cmd := &cobra.Command{
		Use:   "loop",
		Short: "Compare fixed splits between alpha and beta with the one that follows the load",
		Long: `Plays experiment 6 of paper 002 and a day whose load rises and falls at 10 Gbit/s
in the packet-level simulator, under the paper's fixed splits 95/5 and 80/20 and
under the law that sets the split from counters and forecast. Exit status 3 says
that beta was worse under the law than under a fixed split.`,
		Example: "  millrace papers loop\n  millrace papers loop --quick --json\n  millrace papers loop --page docs/reference/split-twin.md",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Progress = progress(cmd)
			r, err := closedloop.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if page != "" {
				if err := os.WriteFile(page, []byte(r.Page()), 0o644); err != nil {
					return fmt.Errorf("write the page: %w", err)
				}
			}
			if wantJSON(cmd) {
				err = printValue(cmd, r)
			} else {
				err = printLoop(cmd, r)
			}
			if err == nil && !r.NeverWorse() {
				return coded{errors.New("beta was worse under the law than under a fixed split"), exitUnmet}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&o.Quick, "quick", false, "only one load of experiment 6, in less time")
	cmd.Flags().IntVar(&o.Workers, "workers", 0, "runs at a time (default: one per processor)")
	cmd.Flags().StringVar(&page, "page", "", "also write the page of the documentation into this file")
	jsonFlag(cmd)
	return cmd
}

func printLoop(cmd *cobra.Command, r *closedloop.Result) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	last := ""
	for _, row := range r.Rows {
		if row.Load != last {
			fmt.Fprintf(w, "%s\n  SPLIT\tALPHA Gbit/s\tBETA Gbit/s\tLOSS %%\tWORST HOUR %%\tPING ms\tMOST ms\tMOVES\tBETA'S SHARE\n", row.Load)
			last = row.Load
		}
		fmt.Fprintf(w, "  %s\t%.2f\t%.2f\t%.3g\t%.3g\t%.2f\t%.2f\t%d\t%s\n",
			row.Split, row.Alpha, row.Beta, row.Loss, row.Worst, row.Ping, row.PingMost, row.Moves, row.Shares())
	}
	fmt.Fprintln(w)
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s beside %s: %s\n", f.Load, f.Fixed, f.Text)
	}
	fmt.Fprintf(w, "%.1f s, %.2f million packet-hops\n", r.Seconds, float64(r.Hops)/1e6)
	return w.Flush()
}

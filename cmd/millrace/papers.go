package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/papers"
)

func papersCommand() *cobra.Command {
	var o papers.Options
	var page string
	var rejudge bool
	cmd := &cobra.Command{
		Use:   "papers",
		Short: "Reproduce the papers' experiments in the twin and score every number",
		Long: `Runs the experiments of the five papers in the packet-level simulator and holds
every published number against what came out, within a tolerance that is argued
beside each row. Rows that are outside are reported and do not fail the command.
Ctrl-C prints what is known so far.`,
		Example: "  millrace papers --only 004\n  millrace papers --quick --json\n  millrace papers --page docs/reference/papers",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rejudge {
				if page == "" {
					return coded{errors.New("--rejudge needs --page: the folder with what was run"), exitUsage}
				}
				return (&papers.Result{}).WritePage(page)
			}
			o.Progress = progress(cmd)
			r, err := papers.Run(cmd.Context(), o)
			if err != nil {
				return coded{err, exitUsage}
			}
			if page != "" && r.Stopped == "" {
				if err := r.WritePage(page); err != nil {
					return err
				}
			}
			if wantJSON(cmd) {
				err = printValue(cmd, r)
			} else {
				err = printScoreboard(cmd, r)
			}
			if err == nil {
				err = cmd.Context().Err() // Ctrl-C ends with its own exit code, after what is known was printed
			}
			return err
		},
	}
	cmd.AddCommand(papersLoopCommand())
	cmd.Flags().StringVar(&o.Only, "only", "", "only experiments whose ids begin so: 002, or 002-exp3,004")
	cmd.Flags().BoolVar(&o.Quick, "quick", false, "only the reduced set that the tests run")
	cmd.Flags().IntVar(&o.Workers, "workers", 0, "runs at a time (default: one per processor)")
	cmd.Flags().StringVar(&page, "page", "", "also write pages, JSON and plots into this folder, and the totals beside it")
	cmd.Flags().BoolVar(&rejudge, "rejudge", false, "run nothing: hold what is in the folder of --page against the rows and the lab's values of now")
	jsonFlag(cmd)
	return cmd
}

func printScoreboard(cmd *cobra.Command, r *papers.Result) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	for _, e := range r.Experiments {
		fmt.Fprintf(w, "%s  %s\n", e.ID, e.Title)
		for _, v := range e.Verdicts {
			twin := "-"
			if !v.Missing {
				twin = fmt.Sprintf("%.4g", v.Twin)
			}
			lab := papers.Lab(v)
			if lab != "" {
				lab = "lab " + lab
			}
			fmt.Fprintf(w, "  %s\t%s\t%.6g\t%s\t%s\t%s\t%s\t%s\n", v.Item, v.What, v.Row.Paper, twin, v.Unit, v.Tolerance(), papers.Word(v), lab)
		}
	}
	fmt.Fprintln(w)
	for _, id := range slices.Sorted(maps.Keys(r.Totals)) {
		t := r.Totals[id]
		fmt.Fprintf(w, "paper %s\t%d rows\t%d within\t%d outside\t%d not measured\n", id, t.Rows, t.Within, t.Outside, t.Missing)
	}
	fmt.Fprintf(w, "%.1f s, %.2f million packet-hops\n", r.Seconds, float64(r.Hops)/1e6)
	if r.Stopped != "" {
		fmt.Fprintln(w, r.Stopped)
	}
	return w.Flush()
}

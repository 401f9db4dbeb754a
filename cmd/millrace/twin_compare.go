package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/e2e/scenarios"
	"github.com/millrace/millrace/e2e/twin"
)

func twinCompareCommand() *cobra.Command {
	var o twin.Options
	var page string
	cmd := &cobra.Command{
		Use:   "compare [SCENARIO...]",
		Short: "Hold the simulator against what virtual routers measured",
		Long: `Runs scenarios in the packet-level simulator and compares every metric that
their expectations name with what the lab measured when it last ran them. Without
arguments: all scenarios whose measurements are kept and that can be simulated.
Differences beyond the stated bounds are reported and do not fail the command.`,
		Example: "  millrace twin compare hntes-exp6\n  millrace twin compare --page docs/reference/twin-lab.md",
		RunE: func(cmd *cobra.Command, names []string) error {
			asked := len(names) > 0
			if !asked {
				names = scenarios.Kept()
			}
			var all []twin.Compared
			for _, name := range names {
				s, err := loadScenario(name)
				if err != nil {
					return coded{err, exitUsage}
				}
				kept, err := scenarios.MeasuredIn(s.Name)
				if err != nil {
					return coded{fmt.Errorf("%w; `millrace lab run --all` keeps them", err), exitUsage}
				}
				c, err := twin.Compare(cmd.Context(), s, kept, o)
				if err != nil {
					return err
				}
				if asked && c.Left != "" {
					return coded{errors.New(c.Left), exitUsage}
				}
				all = append(all, c)
			}
			if page != "" {
				if err := os.WriteFile(page, []byte(twin.ComparePage(all)), 0o644); err != nil {
					return fmt.Errorf("write the page: %w", err)
				}
			}
			if wantJSON(cmd) {
				return printValue(cmd, all)
			}
			return printCompared(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "names the run: the same seed gives the same packets")
	cmd.Flags().StringVar(&page, "page", "", "also write the tables into this Markdown file")
	jsonFlag(cmd)
	return cmd
}

func printCompared(out io.Writer, all []twin.Compared) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, c := range all {
		fmt.Fprintf(w, "%s\tlab\ttwin\tbound\t%d of %d within\n", c.Scenario, len(c.Rows)-c.Outside(), len(c.Rows))
		if c.Left != "" {
			fmt.Fprintf(w, "  not simulated: %s\n", c.Left)
		}
		for _, r := range c.Rows {
			verdict := "within"
			if !r.Within {
				verdict = "BEYOND"
			}
			fmt.Fprintf(w, "  %s\t%.5g\t%.5g\t%s\t%s\n", r.Metric, r.Lab, r.Twin, r.Bound, verdict)
		}
	}
	return w.Flush()
}

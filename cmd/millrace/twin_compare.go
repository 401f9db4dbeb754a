package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/twin/predict"
)

func twinCompareCommand() *cobra.Command {
	var o predict.Options
	var page, measured string
	var replace map[string]string
	cmd := &cobra.Command{
		Use:   "compare [SCENARIO...]",
		Short: "Hold the simulator against what virtual routers measured",
		Long: `Runs scenarios in the packet-level simulator and compares every metric that
their expectations name with what the lab measured when it last ran them. Without
arguments: all scenarios whose measurements are kept and that can be simulated.
Differences beyond the stated bounds are reported and do not fail the command.`,
		Example: "  millrace twin compare hntes-exp6\n  millrace twin compare --page docs/reference/twin-lab.md\n  millrace twin compare geant-lbe-whatif --policy changed=my-copy.yaml --measured out/measured.json",
		RunE: func(cmd *cobra.Command, names []string) error {
			asked := len(names) > 0
			if len(names) != 1 && (measured != "" || len(replace) > 0) {
				return coded{errors.New("--measured and --policy are of one scenario: name it"), exitUsage}
			}
			if !asked {
				names = scenario.Kept()
			}
			var all []predict.Compared
			for _, name := range names {
				s, err := loadWith(name, replace)
				if err != nil {
					return err
				}
				kept, err := measuredOf(s, measured)
				if err != nil {
					return coded{err, exitUsage}
				}
				c, err := predict.Compare(cmd.Context(), s, kept, o)
				if err != nil {
					return err
				}
				if asked && c.Left != "" {
					return coded{errors.New(c.Left), exitUsage}
				}
				all = append(all, c)
			}
			if page != "" {
				if err := os.WriteFile(page, []byte(predict.ComparePage(all)), 0o644); err != nil {
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
	cmd.Flags().StringVar(&measured, "measured", "", "what `lab run SCENARIO --json` printed, instead of what is kept of the scenario")
	policyFlag(cmd, &replace)
	jsonFlag(cmd)
	return cmd
}

// measuredOf reads the lab's measurements of a scenario: the kept ones, or those of a file that is named.
func measuredOf(s *scenario.Scenario, file string) (m scenario.Measured, err error) {
	if file == "" {
		if m, err = scenario.MeasuredIn(s.Name); err != nil {
			return m, fmt.Errorf("%w; `millrace lab run --all` keeps them, and --measured takes what `millrace lab run --json` printed", err)
		}
		return m, nil
	}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err == nil && m.Scenario != s.Name {
		err = fmt.Errorf("it is of scenario %q, not %s", m.Scenario, s.Name)
	}
	if err != nil {
		return m, fmt.Errorf("read the measurements in %s: %w", file, err)
	}
	return m, nil
}

func printCompared(out io.Writer, all []predict.Compared) error {
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

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/twin/predict"
)

func twinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "twin",
		Short: "Predict what a scenario does, without routers",
	}
	cmd.AddCommand(twinRunCommand(), twinCompareCommand())
	return cmd
}

// policyFlag lets a copy of a policy stand in for the one that a scenario names.
func policyFlag(cmd *cobra.Command, replace *map[string]string) {
	cmd.Flags().StringToStringVar(replace, "policy", nil, "NAME=FILE: wherever the scenario uses policy NAME, this file instead")
}

// loadWith loads a scenario with policies replaced.
func loadWith(path string, replace map[string]string) (*scenario.Scenario, error) {
	s, err := scenario.Load(path)
	if err != nil {
		return nil, coded{err, exitUsage}
	}
	for _, name := range slices.Sorted(maps.Keys(replace)) {
		text, err := os.ReadFile(replace[name])
		if err != nil {
			return nil, coded{fmt.Errorf("read policy: %w", err), exitUsage}
		}
		if err := s.UsePolicy(name, scenario.PolicyFile{Name: replace[name], Text: text}); err != nil {
			return nil, coded{err, exitUsage}
		}
	}
	return s, nil
}

func twinRunCommand() *cobra.Command {
	var o predict.Options
	var page string
	var replace map[string]string
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Run a scenario's phases in the packet-level simulator and judge its expectations",
		Long: `Runs the file that ` + "`lab run`" + ` runs: the same policies through the same compiler,
the same applications, the same expectations. What cannot be simulated is refused
with file and line. Ctrl-C prints what is known so far. Exit status 3 says that
the run was complete and an expectation was not met.`,
		Example: "  millrace twin run hntes-exp2\n  millrace twin run scenario/files/geant-lbe-credit --json\n  millrace twin run hntes-exp2 --plot out.html\n  millrace twin run geant-lbe-whatif --policy changed=my-copy.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := loadWith(args[0], replace)
			if err != nil {
				return err
			}
			o.Progress = progress(cmd)
			r, err := predict.Run(cmd.Context(), s, o)
			if err != nil {
				return coded{err, exitUsage}
			}
			if page != "" {
				if err := os.WriteFile(page, []byte(r.HTML()), 0o644); err != nil {
					return fmt.Errorf("write the plots: %w", err)
				}
			}
			if wantJSON(cmd) {
				err = printValue(cmd, r)
			} else {
				err = printTwin(cmd, r)
			}
			switch {
			case err != nil:
				return err
			case cmd.Context().Err() != nil:
				return cmd.Context().Err()
			case !r.Pass:
				return coded{errors.New("an expectation was not met"), exitUnmet}
			}
			return nil
		},
	}
	policyFlag(cmd, &replace)
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "names the run: the same seed gives the same packets")
	cmd.Flags().StringVar(&page, "plot", "", "also write a page with plots into this file")
	jsonFlag(cmd)
	return cmd
}

func printTwin(cmd *cobra.Command, r *predict.Result) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	for _, phase := range slices.Sorted(maps.Keys(r.Skipped)) {
		fmt.Fprintf(w, "phase %s left out: it requires %s\n", phase, r.Skipped[phase])
	}
	fmt.Fprintln(w, "EXPECTATION\tTWIN\tWANT\tRESULT\tSOURCE")
	for _, v := range r.Verdicts {
		got := fmt.Sprintf("%.4g", v.Got)
		if v.Skipped != "" {
			got = ""
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", v.Name, got, v.Bound(), v.Result(), v.Source)
	}
	fmt.Fprintf(w, "%.1f s, %.2f million packet-hops, seed %d\n", r.Seconds, float64(r.Hops)/1e6, r.Seed)
	if r.Stopped != "" {
		fmt.Fprintln(w, r.Stopped)
	}
	return w.Flush()
}

package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/e2e/hntes"
	"github.com/millrace/millrace/e2e/lab"
	"github.com/millrace/millrace/e2e/scenario"
)

// labReport is what `lab run --json` prints.
type labReport struct {
	Scenario string             `json:"scenario"`
	Backend  lab.Backend        `json:"backend"`
	Phases   []*lab.PhaseResult `json:"phases"`
	Skipped  map[string]string  `json:"skipped,omitempty"` // phase by what it requires
	Metrics  scenario.Metrics   `json:"metrics"`
	Verdicts []scenario.Verdict `json:"verdicts"`
	Pass     bool               `json:"pass"`
}

func labRunCommand() *cobra.Command {
	var f labFlags
	var loop loopFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Boot a lab, run its phases, judge its expectations, end it",
		Long: `A scenario with a phase that requires a redirect is run with the whole product
beside the routers: flows are collected, alpha pairs found, a change set
approved and pushed, and rolled back at the end. Any other scenario is only its
phases. Exit status 3 says that the run was complete and an expectation was not
met.`,
		Example: "  millrace lab run hntes-redirect --output out/demo\n" +
			"  millrace lab run hntes-redirect --output out/demo --keep --until day1",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := loadScenario(args[0])
			if err != nil {
				return coded{err, exitUsage}
			}
			if hntes.Needed(s) {
				return runLoop(cmd, s, f, loop)
			}
			l, err := f.up(cmd, args[0])
			if err != nil {
				return err
			}
			report, err := runPhases(cmd, l)
			if err := errors.Join(err, l.Down()); err != nil {
				return err
			}
			if wantJSON(cmd) {
				err = printValue(cmd, report)
			} else {
				err = report.print(cmd)
			}
			if err == nil && !report.Pass {
				return coded{errors.New("an expectation was not met"), exitUnmet}
			}
			return err
		},
	}
	f.add(cmd)
	loop.add(cmd)
	jsonFlag(cmd)
	return cmd
}

func runPhases(cmd *cobra.Command, l *lab.Lab) (*labReport, error) {
	r := &labReport{Scenario: l.Scenario.Name, Backend: l.Backend, Skipped: map[string]string{}, Pass: true}
	for _, p := range l.Scenario.Phases {
		if p.Requires != "" {
			r.Skipped[p.Name] = p.Requires
			continue
		}
		say := progress(cmd)
		say("phase " + p.Name)
		result, err := l.RunPhase(cmd.Context(), p.Name, lab.Observer{Progress: say})
		if err != nil {
			return nil, err
		}
		r.Phases = append(r.Phases, result)
	}
	r.Metrics = lab.Metrics(r.Phases...)
	r.Verdicts = l.Scenario.Judge(r.Metrics)
	for _, v := range r.Verdicts {
		r.Pass = r.Pass && (v.Pass || v.Skipped != "")
	}
	return r, nil
}

func (r *labReport) print(cmd *cobra.Command) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	for phase, requires := range r.Skipped {
		fmt.Fprintf(w, "phase %s left out: it requires %s\n", phase, requires)
	}
	fmt.Fprintln(w, "EXPECTATION\tGOT\t\tWANT\tRESULT\tSOURCE")
	for _, v := range r.Verdicts {
		switch {
		case v.Skipped != "":
			fmt.Fprintf(w, "%s\t\t\t\t%s\t%s\n", v.Name, "left out", v.Source)
		case v.Pass:
			fmt.Fprintf(w, "%s\t%.4g\t%s\t%.4g\tmet\t%s\n", v.Name, v.Got, v.Op, v.Want, v.Source)
		default:
			fmt.Fprintf(w, "%s\t%.4g\t%s\t%.4g\tNOT MET\t%s\n", v.Name, v.Got, v.Op, v.Want, v.Source)
		}
	}
	return w.Flush()
}

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/qos"
	"github.com/millrace/millrace/scenario"
)

// allFlags are those of `lab run --all`.
type allFlags struct {
	all     bool
	only    []string
	folder  string
	results string
	figures string
}

func (a *allFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.all, "all", false, "run every shipped scenario that needs no control plane")
	cmd.Flags().StringSliceVar(&a.only, "only", nil, "with --all: run only scenarios whose name begins so; of the others what they measured last is judged again")
	cmd.Flags().StringVar(&a.folder, "json-folder", "out/e2e", "with --all: where each scenario's result is kept")
	cmd.Flags().StringVar(&a.figures, "figures", "", "with --all: renew each scenario's measured.json below this folder, such as "+scenario.Folder+" of a checkout")
	cmd.Flags().StringVar(&a.results, "results", "", "with --all: write the table of all results to this Markdown file")
}

func (a *allFlags) run(cmd *cobra.Command, f labFlags) error {
	backend, err := lab.ParseBackend(f.backend)
	if err != nil {
		return coded{err, exitUsage}
	}
	all, err := shippedScenarios()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(a.folder, 0o755); err != nil {
		return fmt.Errorf("make the folder for results: %w", err)
	}
	batch := qos.Batch{Lab: lab.Options{Backend: backend}, Progress: progress(cmd), Results: a.folder, Figures: a.figures, Wanted: a.wanted}
	results, failed := batch.Run(cmd.Context(), all)
	if err := a.write(cmd, results); err != nil {
		return errors.Join(failed, err)
	}
	var unmet []string
	for _, r := range results {
		if !r.Pass {
			unmet = append(unmet, r.Scenario)
		}
	}
	if failed == nil && len(unmet) > 0 {
		return coded{fmt.Errorf("expectations were not met in %s", strings.Join(unmet, ", ")), exitUnmet}
	}
	return failed
}

func (a *allFlags) wanted(name string) bool {
	return len(a.only) == 0 || slices.ContainsFunc(a.only, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func (a *allFlags) write(cmd *cobra.Command, results []*qos.Result) error {
	if a.results != "" {
		if err := os.WriteFile(a.results, []byte(qos.Markdown(results)), 0o644); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	if wantJSON(cmd) {
		return printValue(cmd, results)
	}
	for _, r := range results {
		fmt.Fprintf(cmd.OutOrStdout(), "\n%s (%.0f s)\n", r.Scenario, r.Seconds)
		if err := r.Print(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	return nil
}

// shippedScenarios are those the lab runs by itself, in the order of their names.
func shippedScenarios() ([]*scenario.Scenario, error) {
	var all []*scenario.Scenario
	for _, name := range scenario.Names() {
		s, err := scenario.Load(name)
		if err != nil {
			return nil, err
		}
		if driverOf(s) == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

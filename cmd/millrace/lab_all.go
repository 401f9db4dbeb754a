package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/hntes"
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

// run goes on after a scenario that fails, so that one run tells everything.
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
	say := progress(cmd)
	var unmet []string
	var failed error
	var results []*qos.Result
	for _, s := range all {
		if a.wanted(s.Name) {
			say("scenario " + s.Name)
			result, err := qos.Run(cmd.Context(), s, qos.Options{Lab: lab.Options{Backend: backend}, Progress: say})
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("scenario %s: %w", s.Name, err))
				continue
			}
			if err := keep(a.file(result.Scenario), result.Scenario, result); err != nil {
				return err
			}
		}
		result, err := a.kept(s)
		if err != nil {
			return err
		}
		if result == nil {
			continue
		}
		if err := keepMeasured(a.figures, s, result); err != nil {
			return err
		}
		results = append(results, result)
		if !result.Pass {
			unmet = append(unmet, s.Name)
		}
	}
	if err := a.write(cmd, results); err != nil {
		return err
	}
	if failed == nil && len(unmet) > 0 {
		return coded{fmt.Errorf("expectations were not met in %s", strings.Join(unmet, ", ")), exitUnmet}
	}
	return failed
}

func (a *allFlags) wanted(name string) bool {
	return len(a.only) == 0 || slices.ContainsFunc(a.only, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func (a *allFlags) file(name string) string { return filepath.Join(a.folder, name+".json") }

// kept reads a scenario's last measurements, and judges them by the expectations of today; none where it never ran to its end.
func (a *allFlags) kept(s *scenario.Scenario) (*qos.Result, error) {
	r, err := kept[qos.Result](a.file(s.Name), s.Name)
	if r != nil {
		r.Judge(s)
	}
	return r, err
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
		if !hntes.Needed(s) {
			all = append(all, s)
		}
	}
	return all, nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/hntes"
	"github.com/millrace/millrace/scenario"
)

// loopFlags are those of `lab run` that concern scenarios with the control plane in them.
type loopFlags struct {
	keep    bool
	until   string
	approve string
	listen  string
}

func (f *loopFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.keep, "keep", false, "leave lab and dashboard up at the end")
	cmd.Flags().StringVar(&f.until, "until", "", "end early, after day1 or nightly")
	cmd.Flags().StringVar(&f.approve, "approve", "auto", "who approves the change set: dashboard (a real browser), api, or auto (dashboard where a browser is installed)")
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8080", "where the dashboard is reached; another port is taken if this one is in use")
}

// runLoop runs a scenario with the whole product and prints its before/after table.
func runLoop(cmd *cobra.Command, s *scenario.Scenario, f labFlags, loop loopFlags) error {
	backend, err := lab.ParseBackend(f.backend)
	if err != nil {
		return coded{err, exitUsage}
	}
	browser, err := browserCommand(loop.approve)
	if err != nil {
		return coded{err, exitUsage}
	}
	output, err := outputOf(s, f)
	if err != nil {
		return err
	}
	rep, err := hntes.Run(cmd.Context(), s, hntes.Options{
		Output: output, Listen: loop.listen, Browser: browser, Until: loop.until, Keep: loop.keep,
		Lab: lab.Options{Name: f.name, Backend: backend}, Progress: progress(cmd),
	})
	if err != nil || rep == nil {
		return err
	}
	if wantJSON(cmd) {
		err = printValue(cmd, rep)
	} else {
		fmt.Fprintln(cmd.OutOrStdout())
		rep.Table(cmd.OutOrStdout())
		fmt.Fprintf(cmd.OutOrStdout(), "\nreport: %s\n", filepath.Join(output, "report.html"))
	}
	if err == nil && !rep.Pass {
		return coded{errors.New("the scenario did not do what it claims; the failed checks are marked above"), exitUnmet}
	}
	return err
}

// outputOf is the folder for what a run writes.
func outputOf(s *scenario.Scenario, f labFlags) (string, error) {
	output := f.output
	if output == "" {
		output = filepath.Join("out", s.Name)
	}
	output, err := filepath.Abs(output)
	if err != nil {
		return "", fmt.Errorf("find output folder: %w", err)
	}
	return output, nil
}

// approveScript drives the dashboard; it is there in a checkout.
const approveScript = "services/dashboard/web/e2e/approve.mjs"

func browserCommand(how string) ([]string, error) {
	node, nodeErr := exec.LookPath("node")
	_, scriptErr := os.Stat(approveScript)
	_, browserErr := exec.LookPath("chromium")
	err := errors.Join(nodeErr, scriptErr, browserErr)
	switch {
	case how == "api", how == "auto" && err != nil:
		return nil, nil
	case how != "auto" && how != "dashboard":
		return nil, fmt.Errorf("--approve %s: write dashboard, api or auto", how)
	case err != nil:
		return nil, fmt.Errorf("approve in the dashboard: %w", err)
	}
	return []string{node, approveScript}, nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/i2vfc"
	"github.com/millrace/millrace/scenario"
)

// vpnRun are the flags of `lab vpn`.
type vpnRun struct {
	runs     int
	once     bool
	variants []string
	folder   string
	results  string
	backend  string
	mode     string
	figures  string
}

func labVPNCommand() *cobra.Command {
	var f vpnRun
	cmd := &cobra.Command{
		Use:   "vpn [SCENARIO]...",
		Short: "Run paper 001's VPN scenarios with and without the PE agent",
		Long: `Each scenario is booted once and run several times, in turn without agents and
with them; F over time is printed. Cells that are not run keep what they
measured last. Without a scenario, all four run (about 40 minutes). Exit status
3 says that the runs were complete and an expectation was not met.`,
		Example: "  millrace lab vpn i2vfc-single --runs 3\n" +
			"  millrace lab vpn i2vfc-multi --variant B3-30 --runs 1\n" +
			"  millrace lab vpn --runs 3 --once --results docs/reference/vpn-results.md",
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().IntVar(&f.runs, "runs", 3, "how often each setting is run; 0 judges what is kept again")
	cmd.Flags().BoolVar(&f.once, "once", false, "also run, once each, the paper's other settings of a and b")
	cmd.Flags().StringSliceVar(&f.variants, "variant", nil, "only these variants of a scenario, such as B3-30")
	cmd.Flags().StringVar(&f.folder, "json-folder", "out/e2e", "where each scenario's result is kept")
	cmd.Flags().StringVar(&f.figures, "figures", "", "renew each scenario's measured.json below this folder, such as "+scenario.Folder+" of a checkout")
	cmd.Flags().StringVar(&f.results, "results", "", "write the tables of all kept results to this Markdown file")
	cmd.Flags().StringVar(&f.backend, "backend", "uml", "uml or native")
	cmd.Flags().StringVar(&f.mode, "mode", "auto", "how agents enforce rates: edt, htb or auto")
	jsonFlag(cmd)
	return cmd
}

func (f *vpnRun) run(cmd *cobra.Command, names []string) error {
	backend, err := lab.ParseBackend(f.backend)
	if err != nil {
		return coded{err, exitUsage}
	}
	if err := os.MkdirAll(f.folder, 0o755); err != nil {
		return fmt.Errorf("make the folder for results: %w", err)
	}
	batch, err := f.batch(cmd, names, backend)
	if err != nil {
		return err
	}
	failed := batch.Measure(cmd.Context())
	all, err := batch.Reports()
	if err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, f.print(cmd, all))
}

func (f *vpnRun) batch(cmd *cobra.Command, names []string, backend lab.Backend) (i2vfc.Batch, error) {
	output, err := filepath.Abs("out")
	if err != nil {
		return i2vfc.Batch{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return i2vfc.Batch{}, fmt.Errorf("find this program: %w", err)
	}
	run := i2vfc.Options{Binary: self, Runs: f.runs, Mode: f.mode, Progress: progress(cmd), Lab: lab.Options{Backend: backend}}
	return i2vfc.Batch{Run: run, Output: output, Results: f.folder, Scenarios: names, Variants: f.variants, Once: f.once}, nil
}

func (f *vpnRun) print(cmd *cobra.Command, all []*i2vfc.Report) error {
	page := i2vfc.Markdown(all)
	if f.results != "" {
		if err := os.WriteFile(f.results, []byte(page), 0o644); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
		if err := f.quote(all); err != nil {
			return err
		}
	}
	var err error
	if wantJSON(cmd) {
		err = printValue(cmd, all)
	} else {
		_, err = fmt.Fprint(cmd.OutOrStdout(), page)
	}
	for _, r := range all {
		if err == nil && !r.Pass {
			err = coded{fmt.Errorf("an expectation of %s was not met", r.Scenario), exitUnmet}
		}
	}
	return err
}

func (f *vpnRun) quote(all []*i2vfc.Report) error {
	if f.figures == "" {
		return nil
	}
	for _, r := range all {
		if err := r.Quote(f.figures); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/i2vfc"
	"github.com/millrace/millrace/lab/experiments/results"
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
	var all []*i2vfc.Report
	var failed error
	for _, p := range i2vfc.Plans() {
		if f.runs > 0 && (len(names) == 0 || slices.Contains(names, p.Scenario)) {
			if err := f.measure(cmd, p, backend); err != nil {
				failed = errors.Join(failed, err)
			}
		}
		r, err := f.kept(p.Scenario)
		if err != nil {
			return err
		}
		if r != nil {
			all = append(all, r)
		}
	}
	return errors.Join(failed, f.print(cmd, all))
}

// measure runs a scenario and keeps what came of it, also of a run that broke off.
func (f *vpnRun) measure(cmd *cobra.Command, p i2vfc.Plan, backend lab.Backend) error {
	output, err := filepath.Abs(filepath.Join("out", p.Scenario))
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	o := i2vfc.Options{Output: output, Binary: self, Runs: f.runs, Mode: f.mode, Progress: progress(cmd), Lab: lab.Options{Name: p.Scenario, Backend: backend}}
	if f.once {
		o.Once = p.Once
	}
	report, failed := i2vfc.Measure(cmd.Context(), p, f.variants, o)
	if report == nil || len(report.Cells) == 0 {
		return failed
	}
	earlier, err := f.kept(p.Scenario)
	if err != nil {
		return errors.Join(failed, err)
	}
	if earlier != nil {
		report.Join(earlier)
	}
	return errors.Join(failed, results.Keep(f.file(p.Scenario), report))
}

func (f *vpnRun) file(name string) string { return filepath.Join(f.folder, name+"-vpn.json") }

// kept reads a scenario's last report and judges it by today's expectations; nil where there is none.
func (f *vpnRun) kept(name string) (*i2vfc.Report, error) {
	r, err := results.Read[i2vfc.Report](f.file(name))
	if r == nil {
		return nil, err
	}
	s, _, err := i2vfc.Load(name)
	if err != nil {
		return nil, err
	}
	r.Judge(s)
	return r, nil
}

// renew puts a report's medians in the place of the figures that the product quotes.
func (f *vpnRun) renew(r *i2vfc.Report) error {
	if f.figures == "" {
		return nil
	}
	m := scenario.Measured{Scenario: r.Scenario, Started: r.Started, Metrics: r.Metrics(), Unmet: scenario.Unmet(r.Verdicts)}
	return results.Keep(scenario.MeasuredFile(f.figures, r.Scenario), m)
}

func (f *vpnRun) print(cmd *cobra.Command, all []*i2vfc.Report) error {
	page := i2vfc.Markdown(all)
	if f.results != "" {
		if err := os.WriteFile(f.results, []byte(page), 0o644); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
		for _, r := range all {
			if err := f.renew(r); err != nil {
				return err
			}
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

package i2vfc

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/results"
	"github.com/millrace/millrace/scenario"
)

// Batch runs plans and keeps their reports.
type Batch struct {
	// Run are the options of each run, but for Output, Once and Lab.Name, which follow from the plan.
	Run Options
	// Output is the folder of the labs, Results that of the reports.
	Output, Results string
	// Scenarios and Variants are what is run of the plans; empty is all.
	Scenarios, Variants []string
	// Once runs the plans' settings that are run once, too.
	Once bool
}

// Measure goes on after a plan that fails. A run that broke off is kept as well. With no runs it does nothing.
func (b Batch) Measure(ctx context.Context) (failed error) {
	for _, p := range Plans() {
		if b.Run.Runs > 0 && (len(b.Scenarios) == 0 || slices.Contains(b.Scenarios, p.Scenario)) {
			failed = errors.Join(failed, b.measure(ctx, p))
		}
	}
	return failed
}

func (b Batch) measure(ctx context.Context, p Plan) error {
	o := b.Run
	o.Output, o.Lab = filepath.Join(b.Output, p.Scenario), lab.Options{Name: p.Scenario, Backend: b.Run.Lab.Backend}
	if b.Once {
		o.Once = p.Once
	}
	report, failed := Measure(ctx, p, b.Variants, o)
	if report == nil || len(report.Cells) == 0 {
		return failed
	}
	earlier, err := b.kept(p.Scenario)
	if err != nil {
		return errors.Join(failed, err)
	}
	if earlier != nil {
		report.Join(earlier)
	}
	return errors.Join(failed, results.Keep(b.file(p.Scenario), report))
}

// Reports reads the kept reports in the order of the plans, and judges them by today's expectations. Plans that were
// never run have none.
func (b Batch) Reports() ([]*Report, error) {
	var all []*Report
	for _, p := range Plans() {
		r, err := b.kept(p.Scenario)
		if err != nil {
			return nil, err
		}
		if r != nil {
			all = append(all, r)
		}
	}
	return all, nil
}

func (b Batch) file(name string) string { return filepath.Join(b.Results, name+"-vpn.json") }

// kept reads a scenario's last report and judges it by today's expectations; nil where there is none.
func (b Batch) kept(name string) (*Report, error) {
	r, err := results.Read[Report](b.file(name))
	if r == nil {
		return nil, err
	}
	s, _, err := Load(name)
	if err != nil {
		return nil, err
	}
	r.Judge(s)
	return r, nil
}

// Quote replaces the measured.json below a folder, whose figures the product quotes, by the report's medians.
func (r *Report) Quote(folder string) error {
	m := scenario.Measured{Scenario: r.Scenario, Started: r.Started, Metrics: r.Metrics(), Unmet: scenario.Unmet(r.Verdicts)}
	return results.Keep(scenario.MeasuredFile(folder, r.Scenario), m)
}

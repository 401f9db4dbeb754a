package qos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/results"
	"github.com/millrace/millrace/scenario"
)

// Batch runs many scenarios and keeps what they measured.
type Batch struct {
	Lab      lab.Options
	Progress func(string)
	// Results is the folder of whole results; Figures, where not empty, the one of measured.json files to renew.
	Results, Figures string
	// Wanted tells which scenarios are run; of the others what they measured last is judged again.
	Wanted func(name string) bool
}

// Run goes on after a scenario that fails or whose result cannot be read, so that one run tells everything. The
// results are in the order of the scenarios, without those that never ran to their end.
func (b Batch) Run(ctx context.Context, scenarios []*scenario.Scenario) (all []*Result, failed error) {
	for _, s := range scenarios {
		if b.Wanted(s.Name) {
			if err := b.measure(ctx, s); err != nil {
				failed = errors.Join(failed, fmt.Errorf("scenario %s: %w", s.Name, err))
				continue
			}
		}
		r, err := b.judged(s)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("scenario %s: %w", s.Name, err))
		}
		if r != nil {
			all = append(all, r)
		}
	}
	return all, failed
}

// judged is a scenario's kept result by the expectations of today; nil where none is kept. With the error of figures
// that could not be renewed comes the result.
func (b Batch) judged(s *scenario.Scenario) (*Result, error) {
	r, err := results.Read[Result](b.file(s.Name))
	if err != nil || r == nil {
		return nil, err
	}
	r.Judge(s)
	return r, b.renew(s, r)
}

func (b Batch) file(name string) string { return filepath.Join(b.Results, name+".json") }

func (b Batch) measure(ctx context.Context, s *scenario.Scenario) error {
	b.Progress("scenario " + s.Name)
	r, err := Run(ctx, s, Options{Lab: b.Lab, Progress: b.Progress})
	if err != nil {
		return err
	}
	return results.Keep(b.file(s.Name), r)
}

// renew puts a run's figures in the place of those that the product
// quotes; scenarios without a measured.json have none.
func (b Batch) renew(s *scenario.Scenario, r *Result) error {
	if b.Figures == "" {
		return nil
	}
	file := scenario.MeasuredFile(b.Figures, s.Name)
	quoted, err := results.Exists(file)
	if err != nil || !quoted {
		return err
	}
	earlier, err := results.Read[scenario.Measured](file)
	if err != nil {
		return err
	}
	m := s.Measure(r.Started, r.Metrics, r.Verdicts)
	if earlier != nil && !m.Replaces(*earlier) {
		return nil
	}
	return results.Keep(file, m)
}

// Package papers is the scoreboard: every number of the five papers that the product implements, compared with the
// twin's result for the same experiment.
//
// An experiment is a list of independent runs and a list of rows. The tolerance of a row is argued beside it before
// anything is run, and a number that is not reproduced keeps its row with the best explanation found.
//
// In: nothing but the code. Out: verdicts, totals and plots. Next: `millrace papers`,
// docs/reference/papers.md.
package papers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/plot"
	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/services/twin/engine"
)

// Plots of the figures.
type (
	Plot  = plot.Plot
	Curve = plot.Curve
	Point = plot.Point
)

// Experiment is one experiment of one paper.
type Experiment struct {
	// ID begins with the paper's number, such as 002-exp2.
	ID    string
	Title string
	Cases []Case
	Rows  []score.Row
	// Derive computes values from those of several cases.
	Derive func(score.Values)
}

// Paper is its number.
func (e Experiment) Paper() string { return e.ID[:3] }

// Case is one run of a network.
type Case struct {
	Name string
	// Quick is part of the reduced set that `make test` runs.
	Quick bool
	Run   func(r *Recorder) error
}

// Recorder takes what a case measures.
type Recorder struct {
	ctx    context.Context
	values score.Values
	plots  []Plot
	hops   int64
}

// Set notes a value under a row's key.
func (r *Recorder) Set(key string, v float64) { r.values[key] = v }

// Plot notes a curve of a figure; cases that name the same figure share it.
func (r *Recorder) Plot(figure, unit, curve string, points []Point) {
	r.PlotOver("seconds", figure, unit, curve, points)
}

// PlotOver is Plot with a horizontal axis that is not time.
func (r *Recorder) PlotOver(axis, figure, unit, curve string, points []Point) {
	r.plots = append(r.plots, Plot{Figure: figure, Unit: unit, X: axis, Curves: []Curve{{Name: curve, Points: points}}})
}

// Play runs a network to a time in seconds, holds its law of conservation, and stops between two seconds when it
// has to.
func (r *Recorder) Play(n *engine.Net, seconds float64) error {
	for at := 1.0; ; at++ {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n.Run(engine.Seconds(min(at, seconds)))
		if at >= seconds {
			break
		}
	}
	r.hops += n.Hops
	return n.Check()
}

// Options of a run.
type Options struct {
	// Only lists the beginnings of the ids to run, separated by commas; empty: all.
	Only string
	// Quick runs the reduced set: rows of other cases are left out, not judged.
	Quick bool
	// Workers run cases at a time; default one per processor.
	Workers  int
	Progress func(string)
}

// Result is the scoreboard.
type Result struct {
	Experiments []ExperimentResult       `json:"experiments"`
	Totals      map[string]*score.Totals `json:"totals"`
	// Seconds of wall time, and packets put on links.
	Seconds float64 `json:"seconds"`
	Hops    int64   `json:"packet_hops"`
	// Stopped is set if not everything was run.
	Stopped string `json:"stopped,omitempty"`
}

// ExperimentResult is one experiment's part.
type ExperimentResult struct {
	ID       string          `json:"id"`
	Title    string          `json:"title"`
	Verdicts []score.Verdict `json:"verdicts"`
	Plots    []Plot          `json:"-"`
	Figures  []Figure        `json:"figures,omitempty"`
	// Seconds of wall time summed over cases, and packets put on links.
	Seconds float64 `json:"case_seconds"`
	Hops    int64   `json:"packet_hops"`
}

// Figure is a plot in a file.
type Figure struct {
	Title string `json:"title"`
	File  string `json:"file"`
}

// All are the experiments in the order of the papers.
func All() []Experiment {
	return slices.Concat(hntes(), lbe(), multipath(), vpn())
}

// job is one case on its way.
type job struct {
	experiment int
	c          Case
	r          *Recorder
	err        error
	took       time.Duration
}

// Run plays the experiments. When ctx ends, what is known so far is returned with Stopped set.
func Run(ctx context.Context, o Options) (*Result, error) {
	begin := time.Now()
	var chosen []Experiment
	for _, e := range All() {
		if slices.ContainsFunc(strings.Split(o.Only, ","), func(begin string) bool { return strings.HasPrefix(e.ID, begin) }) {
			chosen = append(chosen, e)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no experiment begins with %q; there are 000, 001, 002, 003 and 004", o.Only)
	}
	jobs := playAll(ctx, chosen, o)
	out := &Result{Totals: map[string]*score.Totals{}}
	for i, e := range chosen {
		r, err := collect(e, i, jobs, o.Quick)
		if err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("experiment %s: %w", e.ID, err)
		}
		if out.Totals[e.Paper()] == nil {
			out.Totals[e.Paper()] = &score.Totals{}
		}
		for _, v := range r.Verdicts {
			out.Totals[e.Paper()].Count(v)
		}
		out.Experiments = append(out.Experiments, r)
	}
	for _, j := range jobs {
		out.Hops += j.r.hops
	}
	out.Seconds = time.Since(begin).Seconds()
	if ctx.Err() != nil {
		out.Stopped = "stopped before the end: rows of cases that were not run are missing"
	}
	return out, nil
}

func playAll(ctx context.Context, chosen []Experiment, o Options) []*job {
	var jobs []*job
	for i, e := range chosen {
		for _, c := range e.Cases {
			if c.Quick || !o.Quick {
				jobs = append(jobs, &job{experiment: i, c: c, r: &Recorder{ctx: ctx, values: score.Values{}}})
			}
		}
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	next := make(chan *job)
	var workers sync.WaitGroup
	var say sync.Mutex
	done := 0
	for range o.Workers {
		workers.Go(func() {
			for j := range next {
				begin := time.Now()
				j.err = j.c.Run(j.r)
				j.took = time.Since(begin)
				say.Lock()
				done++
				if o.Progress != nil {
					o.Progress(fmt.Sprintf("%3d of %d  %s %s", done, len(jobs), chosen[j.experiment].ID, j.c.Name))
				}
				say.Unlock()
			}
		})
	}
	for _, j := range jobs {
		if ctx.Err() != nil {
			j.err = ctx.Err()
			continue
		}
		next <- j
	}
	close(next)
	workers.Wait()
	return jobs
}

func collect(e Experiment, index int, jobs []*job, quick bool) (ExperimentResult, error) {
	out := ExperimentResult{ID: e.ID, Title: e.Title}
	values := score.Values{}
	var failed error
	for _, j := range jobs {
		if j.experiment != index {
			continue
		}
		if j.err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", j.c.Name, j.err)
		}
		maps.Copy(values, j.r.values)
		out.Plots = plot.Merge(out.Plots, j.r.plots)
		out.Seconds += j.took.Seconds()
		out.Hops += j.r.hops
	}
	if e.Derive != nil && failed == nil { // what it compares would be 0 where a case did not run
		e.Derive(values)
	}
	verdicts, err := e.judge(values)
	for _, v := range verdicts {
		if !quick || !v.Missing {
			out.Verdicts = append(out.Verdicts, v)
		}
	}
	return out, errors.Join(failed, err)
}

// judge holds an experiment's rows against values, with the lab's beside them.
func (e Experiment) judge(values score.Values) ([]score.Verdict, error) {
	lab, err := labValues(e.ID)
	var out []score.Verdict
	for _, row := range e.Rows {
		v := score.Judge(e.ID, row, values)
		v.Lab = lab[row.Key]
		out = append(out, v)
	}
	return out, err
}

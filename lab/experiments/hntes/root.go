// Package hntes drives the whole product once around its loop on a virtual
// network: day one, the nightly run, the approval, day two, the rollback.
//
// It plays the operator and the judge, nothing else: everything that finds,
// decides or configures is `millrace up` and the routers' agents. What it
// judges with comes from hosts (ping, transfers), from kernels (interface
// counters, state dumps) and from the routers' telemetry.
//
// In: a scenario with the phases idle, day1 and day2, the last of which
// requires a redirect. Out: a report.Report. Next: `millrace lab run`.
package hntes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/internal/report"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/controlplane"
	"github.com/millrace/millrace/scenario"
)

// Requires is what a phase's `requires:` says when it needs this package.
const Requires = "redirect"

// Needed reports whether a scenario has a phase only this package can prepare.
func Needed(s *scenario.Scenario) bool { return s.Requires(Requires) }

// Options of Run.
type Options struct {
	// Output is the folder for the report, screenshots, logs and the control plane's data.
	Output string
	// Listen is where on this machine the dashboard is reached;
	// default 127.0.0.1:8080, and any free port if that is taken.
	Listen string
	// Browser is the command that approves the change set in the dashboard; it is given --link and --out.
	// Empty approves through the API.
	Browser []string
	// Until ends early, after "day1" or "nightly"; only useful with Keep.
	Until string
	// Keep leaves lab and control plane up.
	Keep     bool
	Lab      lab.Options
	Progress func(string)
}

// run is one time around the loop.
type run struct {
	Options
	lab     *lab.Lab
	plane   *controlplane.Plane
	began   time.Time
	before  map[string]string // kernel dumps per router
	phases  map[string]*lab.PhaseResult
	ports   map[string]portDelta // per phase
	metrics scenario.Metrics
	// lastRecord is the end of the last NetFlow record any evidence rests on.
	lastRecord time.Time
	report     *report.Report
}

// errEarly ends a run that was asked to stop early.
var errEarly = errors.New("stopped early")

// Run goes around once. The report is returned also when a check failed; an
// error means that the loop could not be completed.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (rep *report.Report, err error) {
	r := &run{
		Options: o, began: time.Now(), metrics: scenario.Metrics{},
		phases: map[string]*lab.PhaseResult{}, ports: map[string]portDelta{},
		report: &report.Report{Scenario: s.Name, Started: time.Now().UTC()},
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return nil, fmt.Errorf("make output folder: %w", err)
	}
	o.Lab.Output, o.Lab.Progress = filepath.Join(o.Output, "lab"), o.Progress
	if r.lab, err = lab.Up(ctx, s, o.Lab); err != nil {
		return nil, err
	}
	r.report.Backend = string(r.lab.Backend)
	defer func() { err = errors.Join(err, r.end()) }()
	if err = r.loop(ctx); errors.Is(err, errEarly) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.report, r.conclude(s)
}

// loop is the story, in order.
func (r *run) loop(ctx context.Context) error {
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"control plane", r.startPlane},
		{"state before", r.dumpBefore},
		{"idle", r.phase("idle", "nothing but a ping: this is how fast the network is when it is empty")},
		{"day1", r.phase("day1", "day one: huge transfers share one queue with everyone else")},
		{"nightly", r.nightly},
		{"approval", r.approve},
		{"day2", r.phase("day2", "day two: the same transfers again, now on their own path and queue")},
		{"counters", r.readQueues},
		{"roll-back", r.rollback},
		{"state after", r.dumpAfter},
	}
	for _, s := range steps {
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if r.Until == s.name {
			return errEarly
		}
	}
	return nil
}

func (r *run) say(format string, args ...any) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf(format, args...))
	}
}

// phase returns the step that runs one phase of the scenario between two readings of the port counters.
func (r *run) phase(name, text string) func(context.Context) error {
	return func(ctx context.Context) error {
		r.say("%s", text)
		first, err := r.readPorts(ctx)
		if err != nil {
			return err
		}
		result, err := r.lab.RunPhase(ctx, name, lab.Observer{Progress: func(s string) { r.say("  %s", s) }})
		if err != nil {
			return err
		}
		last, err := r.readPorts(ctx)
		if err != nil {
			return err
		}
		r.phases[name], r.ports[name] = result, last.minus(first)
		delay, goodput, _, _ := measured(result)
		r.say("  ping %.2f ms on average, %d of %d lost; transfers %.1f Mbit/s", delay.Mean, delay.Lost, delay.Sent, goodput)
		return nil
	}
}

// invite says how to log in to what stays up.
func (r *run) invite() {
	r.say("lab and dashboard stay up: %s (end them with: millrace lab down %s)", r.plane.URL, r.lab.Name)
	if r.plane.Admin == nil {
		return // it ended before anybody could log in
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the run's own may be over
	defer cancel()
	page, inBrowser := r.plane.Admin.Link(ctx)
	commands, inShell := r.plane.Admin.Link(ctx)
	if err := errors.Join(inBrowser, inShell); err != nil {
		r.say("no login link: %s", err) // such as after a log-out of admin everywhere
		return
	}
	r.say("log in within 12 hours, once by each:\n  in a browser: %s\n  for commands: millrace login --link '%s'", page, commands)
}

// end takes everything down, or leaves it and says where it is.
func (r *run) end() error {
	if r.Keep && r.plane != nil && r.plane.Alive() {
		r.invite()
		return r.lab.Detach()
	}
	var err error
	if r.plane != nil {
		err = r.plane.Stop()
	}
	return errors.Join(err, r.lab.Down())
}

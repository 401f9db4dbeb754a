package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/qos"
	"github.com/millrace/millrace/scenario"
)

// RunOptions are what the caller decides.
type RunOptions struct {
	// Output is the folder for logs and the control plane's data.
	Output string
	// Listen is where on this machine the dashboard and the API are reached.
	Listen     string
	LabOptions lab.Options
	Progress   func(string)
}

// Experiment is one run of a scenario beside the control plane.
type Experiment struct {
	RunOptions
	Scenario *scenario.Scenario
	Lab      *lab.Lab
	// Plane is nil until StartPlane.
	Plane  *Plane
	Result *qos.Result
	began  time.Time
}

// Begin boots the scenario's network. End takes it down.
func Begin(ctx context.Context, s *scenario.Scenario, o RunOptions) (*Experiment, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	e := &Experiment{RunOptions: o, Scenario: s, began: time.Now()}
	e.LabOptions.Output, e.LabOptions.Progress = filepath.Join(o.Output, "lab"), o.Progress
	// Agents keep what they were given, and the queues stay at the end: the next run begins with routers without any.
	if err := errors.Join(os.RemoveAll(e.LabOptions.Output), os.MkdirAll(o.Output, 0o755)); err != nil {
		return nil, fmt.Errorf("make output folder: %w", err)
	}
	up, err := lab.Up(ctx, s, e.LabOptions)
	if err != nil {
		return nil, err
	}
	e.Lab = up
	e.Result = &qos.Result{
		Scenario: s.Name, Description: s.Description, Scale: s.Scale, Backend: up.Backend, Started: e.began.UTC(),
		Skipped: map[string]string{}, Metrics: scenario.Metrics{},
	}
	return e, nil
}

// Say reports progress.
func (e *Experiment) Say(format string, args ...any) { e.Progress(fmt.Sprintf(format, args...)) }

// StartPlane starts `millrace up` with these settings, and returns once the API answers.
func (e *Experiment) StartPlane(ctx context.Context, settings string) (err error) {
	e.Say("start the control plane beside the routers")
	if e.Plane, err = Start(ctx, e.Lab, Options{Output: e.Output, Listen: e.Listen, Settings: settings}); err == nil {
		e.Say("  dashboard: %s", e.Plane.URL)
	}
	return err
}

// Phase runs a phase of the scenario, and keeps what was measured.
func (e *Experiment) Phase(ctx context.Context, name string, o lab.Observer) (*lab.PhaseResult, error) {
	o.Progress = func(s string) { e.Say("  %s", s) }
	p, err := e.Lab.RunPhase(ctx, name, o)
	if err != nil {
		return nil, err
	}
	e.Result.Phases = append(e.Result.Phases, p)
	return p, nil
}

// Metric is a number that no host measured.
func (e *Experiment) Metric(name string, value float64) { e.Result.Metrics["external/"+name] = value }

// Judge holds everything that was measured against the expectations.
func (e *Experiment) Judge() {
	maps.Copy(e.Result.Metrics, lab.Metrics(e.Result.Phases...))
	lab.AddWindows(e.Result.Metrics, e.Scenario, e.Result.Phases...)
	e.Result.Seconds = time.Since(e.began).Seconds()
	e.Result.Judge(e.Scenario)
}

// End stops the control plane and takes the network down.
func (e *Experiment) End() error {
	var err error
	if e.Plane != nil {
		err = e.Plane.Stop()
	}
	return errors.Join(err, e.Lab.Down())
}

// Package circuits runs a booked circuit on a virtual network from the request to its end.
//
// It plays the operator, the researcher and the judge: everything that books, plans or configures is `millrace up` and
// the routers' agents. What it judges with comes from hosts, from the REST API, and from kernels (state dumps).
//
// In: a scenario that tells one of four stories by its phases: without, with and cut (a circuit for packets, and a link
// of its path that goes), flow (a circuit for some ports, and a flow that is not of it), frames (circuits between
// ports), or night (a volume by a deadline). Out: a qos.Result.
// Next: `millrace lab run`.
package circuits

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/controlplane"
	"github.com/millrace/millrace/lab/experiments/qos"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/scenario"
)

// Requires is what a phase's `requires:` says when it needs a circuit; Before is that of a phase which is to be run
// beside the control plane before there is one.
const (
	Requires = "circuit"
	Before   = "control plane"
	// Bookings is that of a phase during which a volume is booked.
	Bookings = "bookings"
)

// Needed reports whether a scenario has a phase only this package can prepare.
func Needed(s *scenario.Scenario) bool { return s.Requires(Requires, Bookings) }

// Options of Run.
type Options struct {
	// Output is the folder for logs and the control plane's data.
	Output string
	// Listen is where on this machine the dashboard and the API are reached.
	Listen   string
	Lab      lab.Options
	Progress func(string)
}

// run is one run of the story.
type run struct {
	Options
	lab    *lab.Lab
	plane  *controlplane.Plane
	before map[string]string // kernel dumps per router
	// circuit is the one that was booked, asked when it was.
	circuit *circuitsv1.Circuit
	// lost is when a link of its path was cut.
	lost time.Time
	// booked are further circuits: the other one, the volume.
	booked []*circuitsv1.Circuit
	result *qos.Result
}

// Run tells the story once. The result is returned also when an expectation is not met; an error means that the
// story could not be completed.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (result *qos.Result, err error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	began := time.Now()
	o.Lab.Output, o.Lab.Progress = filepath.Join(o.Output, "lab"), o.Progress
	// Agents keep what they were given, and the queues stay at the end: the next run begins with routers without any.
	if err := errors.Join(os.RemoveAll(o.Lab.Output), os.MkdirAll(o.Output, 0o755)); err != nil {
		return nil, fmt.Errorf("make output folder: %w", err)
	}
	r := &run{Options: o, result: &qos.Result{
		Scenario: s.Name, Description: s.Description, Scale: s.Scale, Started: began.UTC(), Skipped: map[string]string{}, Metrics: scenario.Metrics{},
	}}
	if r.lab, err = lab.Up(ctx, s, o.Lab); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	r.result.Backend = r.lab.Backend
	for _, step := range r.steps(s) {
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	maps.Copy(r.result.Metrics, lab.Metrics(r.result.Phases...))
	lab.AddWindows(r.result.Metrics, s, r.result.Phases...)
	r.result.Seconds = time.Since(began).Seconds()
	r.result.Judge(s)
	return r.result, nil
}

// step is a part of the story.
type step struct {
	name string
	do   func(context.Context) error
}

// steps of the story that a scenario tells.
func (r *run) steps(s *scenario.Scenario) []step {
	ready := []step{{"control plane", r.startPlane}, {"queues", r.queues}}
	if _, night := s.Phase("night"); night {
		return append(ready, step{"state before", r.dumpBefore}, step{"phase night", r.volume}, step{"end", r.awaitVolume}, step{"state after", r.dumpAfter})
	}
	if _, frames := s.Phase("frames"); frames {
		return append(ready,
			step{"state before", r.dumpBefore}, step{"request", r.bookPorts}, step{"refusal", r.refuseVLAN},
			step{"start", r.ofBoth(r.awaitActive)}, step{"phase frames", r.frames}, step{"usage", r.usage},
			step{"end", r.awaitBoth}, step{"state after", r.dumpAfter},
		)
	}
	if _, flow := s.Phase("flow"); flow {
		return append(ready,
			step{"state before", r.dumpBefore}, step{"request", r.requestFlow}, step{"start", r.awaitActive},
			step{"phase flow", r.flow}, step{"end", r.awaitReleased}, step{"state after", r.dumpAfter},
		)
	}
	return append(ready,
		step{"phase without", r.phase("without")},
		step{"state before", r.dumpBefore},
		step{"request", r.request},
		step{"refusal", r.refusal},
		step{"start", r.awaitActive},
		step{"phase with", r.phase("with")},
		step{"phase cut", r.cut},
		step{"link back", r.mend},
		step{"end", r.awaitReleased},
		step{"state after", r.dumpAfter},
	)
}

func (r *run) say(format string, args ...any) { r.Progress(fmt.Sprintf(format, args...)) }

func (r *run) phase(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		r.say("phase %s", name)
		p, err := r.lab.RunPhase(ctx, name, lab.Observer{Progress: func(s string) { r.say("  %s", s) }})
		r.result.Phases = append(r.result.Phases, p)
		return err
	}
}

func (r *run) end() error {
	var err error
	if r.plane != nil {
		err = r.plane.Stop()
	}
	return errors.Join(err, r.lab.Down())
}

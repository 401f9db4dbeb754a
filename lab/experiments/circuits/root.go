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

// run is one run of the story.
type run struct {
	*controlplane.Experiment
	before map[string]string // kernel dumps per router
	// circuit is the one that was booked, asked when it was.
	circuit *circuitsv1.Circuit
	// lost is when a link of its path was cut.
	lost time.Time
	// booked are further circuits: the other one, the volume.
	booked []*circuitsv1.Circuit
}

// Run tells the story once. The result is returned also when an expectation is not met; an error means that the
// story could not be completed.
func Run(ctx context.Context, s *scenario.Scenario, o controlplane.RunOptions) (result *qos.Result, err error) {
	e, err := controlplane.Begin(ctx, s, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.End()) }()
	r := &run{Experiment: e}
	for _, step := range r.steps(s) {
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	e.Judge()
	return e.Result, nil
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

func (r *run) phase(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		r.Say("phase %s", name)
		_, err := r.Phase(ctx, name, lab.Observer{})
		return err
	}
}

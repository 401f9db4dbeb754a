// Package online has an alpha flow that nobody knows found while it goes on, and redirected by one click of an
// operator, on a virtual network.
//
// It plays the operator and the judge: everything that finds, decides or configures is `millrace up` and the routers'
// agents. What it judges with comes from hosts (ping, transfers), and from the APIs an operator has.
//
// In: a scenario with the phases idle and online, the latter of which requires an alarm. Out: a Result: what any
// scenario has, and the steps with their seconds. Next: `millrace lab run`.
package online

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/millrace/millrace/lab/experiments/controlplane"
	"github.com/millrace/millrace/lab/experiments/qos"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/scenario"
)

// Requires is what a phase's `requires:` says when it needs this package.
const Requires = "alarm"

// Needed reports whether a scenario has a phase only this package can run.
func Needed(s *scenario.Scenario) bool { return s.Requires(Requires) }

// Result is that of any scenario, and the timeline.
type Result struct {
	*qos.Result
	// Steps are in order of time.
	Steps []Step `json:"steps"`
}

// Step is a moment of the story.
type Step struct {
	Name string `json:"name"`
	// Seconds since the transfer began.
	Seconds float64 `json:"seconds"`
}

// Print writes the timeline behind what any scenario prints.
func (r *Result) Print(out io.Writer) error {
	if err := r.Result.Print(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SECONDS\tSTEP")
	for _, s := range r.Steps {
		fmt.Fprintf(w, "%.1f\t%s\n", s.Seconds, s.Name)
	}
	return w.Flush()
}

// run is one run of the story.
type run struct {
	*controlplane.Experiment
	// alarm is the pair when it was first seen, at seen; changed is the change set that redirects it.
	alarm         *alphav1.AlphaNow
	seen, clicked time.Time
	changed       *pushv1.ChangeSet
	timeline      []Step
}

// Run tells the story once. The result is returned also when an expectation is not met; an error means that the story
// could not be completed.
func Run(ctx context.Context, s *scenario.Scenario, o controlplane.RunOptions) (result *Result, err error) {
	e, err := controlplane.Begin(ctx, s, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.End()) }()
	r := &run{Experiment: e}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"control plane", r.startPlane}, {"phase idle", r.idle}, {"phase online", r.online}} {
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	e.Judge()
	return &Result{Result: e.Result, Steps: r.timeline}, nil
}

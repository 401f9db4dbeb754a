// Package closedloop has services/split follow a load on a virtual network by itself: an alpha flow that nobody knows
// is found and redirected, and then beta's share of the port grows with its load. Behind it a person sets fixed shares.
//
// It plays the person and the judge: everything that finds, decides or configures is `millrace up` and the routers'
// agents. What it judges with comes from hosts (ping, transfers, UDP), from the change sets' records, and from what an
// operator may ask (telemetry, the state of the split).
//
// In: a scenario with the phases loop, fixed-80-20, fixed-80-30 and fixed-95-30, which require the loop. Out: what any
// scenario has, and the moves. Next: `millrace lab run`.
package closedloop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/millrace/millrace/lab/experiments/controlplane"
	"github.com/millrace/millrace/lab/experiments/qos"
	"github.com/millrace/millrace/scenario"
)

// Requires is what a phase's `requires:` says when it needs this package.
const Requires = "loop"

// Needed reports whether a scenario has a phase only this package can run.
func Needed(s *scenario.Scenario) bool { return s.Requires(Requires) }

// Result is that of any scenario, and the moves of the split.
type Result struct {
	*qos.Result
	// Moves are in order of time.
	Moves []Move `json:"moves"`
}

// Move is another share of beta on the port.
type Move struct {
	Change string `json:"change"`
	// Seconds from the start of phase loop until the router had it.
	Seconds float64 `json:"seconds"`
	// Share of beta, percent, and why.
	Share  uint32 `json:"share"`
	Reason string `json:"reason"`
	// Predicted: the change set has what the twin says of it.
	Predicted bool `json:"predicted"`
}

// Print writes the moves behind what any scenario prints.
func (r *Result) Print(out io.Writer) error {
	if err := r.Result.Print(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SECONDS\tBETA\tREASON")
	for _, m := range r.Moves {
		fmt.Fprintf(w, "%.1f\t%d %%\t%s\n", m.Seconds, m.Share, m.Reason)
	}
	return w.Flush()
}

// run is one run of the story.
type run struct {
	*controlplane.Experiment
	moves []Move
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
	if err := r.story(ctx); err != nil {
		return nil, err
	}
	e.Judge()
	return &Result{Result: e.Result, Moves: r.moves}, nil
}

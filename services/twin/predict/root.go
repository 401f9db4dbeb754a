// Package predict runs a scenario in the simulator: the same file, policies and
// expectations as the virtual-router lab, in seconds and without a kernel.
//
// In: a scenario, or one port of a plan and the load of its classes. Out: a
// Result with metrics under the lab's names and the verdicts of the scenario's
// expectations, or what each class gets at the port; or why it cannot be
// simulated, with file and line. Next: services/twin and `millrace twin run`.
package predict

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/plot"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/scenario/plan"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/twin/engine"
)

// Options of Run.
type Options struct {
	// Seed names the run.
	Seed     uint64
	Progress func(string)
}

// Result is what `twin run --json` prints.
type Result struct {
	Scenario string             `json:"scenario"`
	Seed     uint64             `json:"seed"`
	Metrics  scenario.Metrics   `json:"metrics"`
	Verdicts []scenario.Verdict `json:"verdicts"`
	// Skipped are phases that were not run, and why.
	Skipped map[string]string `json:"skipped,omitempty"`
	// Stopped is set if not everything was run.
	Stopped string       `json:"stopped,omitempty"`
	Pass    bool         `json:"pass"`
	Seconds float64      `json:"seconds"`
	Hops    int64        `json:"packet_hops"`
	Ended   engine.Ended `json:"packets_ended"`
	// Plots of every phase: goodput, and delays.
	Plots []plot.Plot `json:"-"`
}

// Run plays the phases one after the other. When ctx ends, what is known so far is returned with Stopped set.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (*Result, error) {
	if err := Check(s); err != nil {
		return nil, err
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	begin := time.Now()
	r := &Result{Scenario: s.Name, Seed: o.Seed, Metrics: scenario.Metrics{}, Skipped: map[string]string{}, Pass: true}
	var held []compile.RouterPlan
	for i, p := range s.Phases {
		if p.Requires != "" {
			r.Skipped[p.Name] = p.Requires
			continue
		}
		if p.Policy != nil {
			var err error
			if held, err = plans(s, p.Policy); err != nil {
				return nil, fmt.Errorf("%s: policy %s of phase %s: %w", place(s, fmt.Sprintf("$.phases[%d].policy", i)), p.Policy.Use, p.Name, err)
			}
		}
		o.Progress("phase " + p.Name)
		done, err := r.phase(ctx, s, p, held, o.Seed)
		if err != nil {
			return nil, fmt.Errorf("%s: phase %s: %w", place(s, fmt.Sprintf("$.phases[%d]", i)), p.Name, err)
		}
		if !done {
			r.Stopped = "stopped in phase " + p.Name + ": figures are up to there"
			break
		}
	}
	r.Verdicts = s.Judge(r.Metrics)
	for _, v := range r.Verdicts {
		r.Pass = r.Pass && !v.Unmet()
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

func plans(s *scenario.Scenario, use *scenario.PolicyUse) ([]compile.RouterPlan, error) {
	if use.Use == scenario.NoPolicy {
		return nil, nil
	}
	held, err := plan.Routers(s, use)
	for _, p := range held {
		err = errors.Join(err, simulable(s, p))
	}
	return held, err
}

// ErrConservation means that the simulator lost count of packets: a defect of the simulator, not of its
// input.
var ErrConservation = errors.New("the simulation lost count of packets")

// burst is how many events pass between two looks at the context, some milliseconds of work.
const burst = 50_000

// advance simulates until a moment, in seconds, or until the context ends.
func advance(ctx context.Context, n *engine.Net, until float64) error {
	for !n.Advance(engine.Seconds(until), burst) {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// phase runs one; false means that ctx ended before it did.
func (r *Result) phase(ctx context.Context, s *scenario.Scenario, p scenario.Phase, held []compile.RouterPlan, seed uint64) (bool, error) {
	b := newBuilder(ctx, s, held, seed)
	apps := b.applications(p)
	if b.stopped() {
		return false, nil
	}
	if b.err != nil {
		return false, b.err
	}
	// What is on its way when the last application ends still arrives.
	end := p.Duration().Seconds() + 1
	done := true
	for at, next := 0.1, 0; ; at += 0.1 {
		for ; next < len(p.Changes) && p.Changes[next].At.Seconds() <= at; next++ {
			if done = advance(ctx, b.net, p.Changes[next].At.Seconds()) == nil; !done {
				break
			}
			err := b.change(p.Changes[next], apps)
			if done = !b.stopped(); !done {
				break
			}
			if err != nil {
				return false, err
			}
		}
		done = done && advance(ctx, b.net, min(at, end)) == nil
		if !done || at >= end {
			break
		}
	}
	if err := b.net.Check(); err != nil {
		return false, fmt.Errorf("%w: %w", ErrConservation, err)
	}
	m := &measurer{s: s, b: b, phase: p, apps: apps, metrics: r.Metrics}
	m.all()
	r.Plots = append(r.Plots, m.plots()...)
	r.Hops += b.net.Hops
	e := b.net.Ended()
	r.Ended.Arrived += e.Arrived
	r.Ended.QueueFull += e.QueueFull
	r.Ended.DrawnEarly += e.DrawnEarly
	r.Ended.Policed += e.Policed
	r.Ended.LostOnWire += e.LostOnWire
	return done, nil
}

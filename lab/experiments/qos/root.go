// Package qos runs a scenario's phases with the policy each of them names in
// force on the virtual routers, and judges what hosts and routers measured.
//
// Between the policy file and the kernels stand the product's own parts: the
// compiler, the OpenConfig renderer, the push service with its change sets, and
// the routers' real agents. Pairs and paths come from the scenario's file
// instead of from services/alpha and services/paths.
//
// In: a scenario with phases that say `policy:`, or none that do. Out: a Result
// with every measurement and verdict. Next: `millrace lab run`, which prints it.
package qos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/lab"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/scenario"
)

// Options of Run.
type Options struct {
	Lab      lab.Options
	Progress func(string)
}

// Result is everything a run has to say.
type Result struct {
	Scenario    string             `json:"scenario"`
	Description string             `json:"description"`
	Scale       string             `json:"scale"`
	Backend     lab.Backend        `json:"backend"`
	Started     time.Time          `json:"started"`
	Seconds     float64            `json:"seconds"`
	Phases      []*lab.PhaseResult `json:"phases"`
	// Pushes are the policies put in force, in order.
	Pushes []Push `json:"pushes,omitempty"`
	// Skipped are phases that were left out, by what they require.
	Skipped  map[string]string  `json:"skipped,omitempty"`
	Metrics  scenario.Metrics   `json:"metrics"`
	Verdicts []scenario.Verdict `json:"verdicts"`
	Pass     bool               `json:"pass"`
}

// Passed reports whether no expectation was missed.
func (r *Result) Passed() bool { return r.Pass }

// Run boots one lab, runs all phases in it and takes it down.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (result *Result, err error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	o.Lab.Progress = o.Progress
	r := &run{scenario: s, say: o.Progress, metrics: scenario.Metrics{}}
	r.result = &Result{Scenario: s.Name, Description: s.Description, Scale: s.Scale, Started: time.Now().UTC(), Skipped: map[string]string{}}
	// Before anything boots: a policy that does not compile is said at once.
	if err := r.compile(); err != nil {
		return nil, err
	}
	if r.lab, err = lab.Up(ctx, s, o.Lab); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.lab.Down()) }()
	r.result.Backend = r.lab.Backend
	defer func() { err = errors.Join(err, r.disconnect(ctx)) }()
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	for _, p := range s.Phases {
		if p.Requires != "" {
			r.result.Skipped[p.Name] = p.Requires
			continue
		}
		if err := r.phase(ctx, p); err != nil {
			return nil, fmt.Errorf("phase %s: %w", p.Name, err)
		}
	}
	r.judge()
	return r.result, nil
}

// run is one run of a scenario.
type run struct {
	scenario *scenario.Scenario
	lab      *lab.Lab
	say      func(string)
	meter    *Meter
	plane    *plane
	// plans are one for each router, by where the policy is named.
	plans   map[*scenario.PolicyUse]*policyv1.PlanResponse
	metrics scenario.Metrics
	result  *Result
}

// phase puts the phase's policy in force and runs its applications between two readings of the counters.
func (r *run) phase(ctx context.Context, p scenario.Phase) error {
	r.say("phase " + p.Name)
	if p.Policy != nil {
		if err := r.enforce(ctx, p.Name, p.Policy); err != nil {
			return err
		}
	}
	before, err := r.meter.read(ctx)
	if err != nil {
		return err
	}
	result, err := r.applications(ctx, p)
	if err != nil {
		return err
	}
	after, err := r.meter.read(ctx)
	if err != nil {
		return err
	}
	if err := r.restoreCosts(ctx, p); err != nil {
		return err
	}
	r.result.Phases = append(r.result.Phases, result)
	for name, value := range difference(before.agents, after.agents) {
		r.metrics[p.Name+"/"+name] = value
	}
	links := difference(before.links, after.links)
	for name, value := range links {
		if _, byAgent := after.agents[name]; !byAgent {
			r.metrics[p.Name+"/"+name] = value
		}
	}
	// A port that got another policy meanwhile has begun to count anew: then the sum is not known.
	if len(p.Changes) == 0 {
		lab.AddNetwork(r.metrics, result, links)
	}
	return nil
}

func difference(before, after scenario.Metrics) scenario.Metrics {
	m := scenario.Metrics{}
	for name, value := range after {
		m[name] = value - before[name]
	}
	return m
}

// applications runs them, with the phase's policy changes at their times beside them.
func (r *run) applications(ctx context.Context, p scenario.Phase) (*lab.PhaseResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started, changed := make(chan time.Time, 1), make(chan error, 1)
	go func() {
		err := r.changes(ctx, p, started)
		if err != nil {
			cancel()
		}
		changed <- err
	}()
	result, err := r.lab.RunPhase(ctx, p.Name, lab.Observer{
		Progress: func(text string) { r.say("  " + text) },
		Started:  func(t time.Time) { started <- t },
	})
	if err != nil {
		cancel()
	}
	changeErr := <-changed
	if changeErr != nil && !errors.Is(changeErr, context.Canceled) {
		return nil, changeErr
	}
	return result, err
}

func (r *run) changes(ctx context.Context, p scenario.Phase, started <-chan time.Time) error {
	if len(p.Changes) == 0 {
		return nil
	}
	var start time.Time
	select {
	case start = <-started:
	case <-ctx.Done():
		return ctx.Err()
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		select {
		case <-time.After(time.Until(start.Add(c.At))):
		case <-ctx.Done():
			return ctx.Err()
		}
		if c.Policy.Use != "" {
			if err := r.enforce(ctx, p.Name, &c.Policy); err != nil {
				return err
			}
		}
		for _, cost := range c.Costs {
			if err := r.setCost(ctx, cost); err != nil {
				return err
			}
		}
	}
	return nil
}

// setCost changes an interface's OSPF cost by a command of FRR.
func (r *run) setCost(ctx context.Context, c scenario.InterfaceCost) error {
	r.say(fmt.Sprintf("  %s costs %d", c.Interface, c.Cost))
	_, err := r.lab.Capture(ctx, c.Interface.Node, "vtysh", "-N", c.Interface.Node, "-c", "configure terminal",
		"-c", "interface "+c.Interface.Interface, "-c", fmt.Sprintf("ip ospf cost %d", c.Cost))
	if err != nil {
		return fmt.Errorf("set the cost of %s: %w", c.Interface, err)
	}
	return nil
}

// restoreCosts takes a phase's changes of costs back, so that the next begins as the file has them.
func (r *run) restoreCosts(ctx context.Context, p scenario.Phase) error {
	for _, change := range p.Changes {
		for _, c := range change.Costs {
			for _, l := range r.scenario.Links {
				if l.A == c.Interface || l.B == c.Interface {
					c.Cost = l.Cost
				}
			}
			if err := r.setCost(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge holds every expectation against everything measured.
func (r *run) judge() {
	out := r.result
	for name, value := range lab.Metrics(out.Phases...) {
		r.metrics[name] = value
	}
	lab.AddWindows(r.metrics, r.scenario, out.Phases...)
	out.Metrics = r.metrics
	out.Judge(r.scenario)
	out.Seconds = time.Since(out.Started).Seconds()
}

// Judge holds what was measured against a scenario's expectations: those of the run, or newer ones.
func (r *Result) Judge(s *scenario.Scenario) {
	r.Verdicts, r.Pass = s.Judge(r.Metrics), true
	for _, v := range r.Verdicts {
		// A metric that was not measured in a phase that ran is no pass: a claim would vanish.
		r.Pass = r.Pass && !v.Unmet() && (v.Skipped == "" || r.leftOut(v.Expectation))
	}
}

// leftOut reports whether all that an expectation misses is of phases that were left out, or of who drives them.
func (r *Result) leftOut(e scenario.Expectation) bool {
	return len(r.Skipped) > 0 && !slices.ContainsFunc(e.Names(), func(name string) bool {
		_, measured := r.Metrics[name]
		phase, _, _ := strings.Cut(name, "/")
		return !measured && phase != scenario.External && r.Skipped[phase] == ""
	})
}

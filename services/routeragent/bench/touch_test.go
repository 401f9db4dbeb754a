package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// steps converges and returns the changes made to the kernel.
func (f *flow) steps(s kernel.Spec) (steps []string, err error) {
	f.Fault = func(step string) error { steps = append(steps, step); return nil }
	defer func() { f.Fault = nil }()
	return steps, f.converge(s)
}

func TestWeightsAndRulesAreChangedWithoutTouchingEachOther(t *testing.T) {
	onBed(t, func(b *bed) error {
		f, err := newFlow(b)
		if err != nil {
			return err
		}
		s := f.spec(flowRules(0))
		if _, err := f.steps(s); err != nil {
			return err
		}
		port := s.Ports["ge-b"]
		port.Queues = slices.Clone(port.Queues)
		port.Queues[0].Rate, port.Queues[1].Rate = 80e6, 20e6
		s.Ports = map[string]kernel.Port{"ge-b": port}
		weights, err := f.steps(s)
		if err != nil {
			return err
		}
		s.Policies = map[string][]kernel.Rule{"te-in": flowRules(1)}
		rules, err := f.steps(s)
		if err != nil {
			return err
		}
		nothing, err := f.steps(s)
		for _, c := range []struct {
			name, mark string
			steps      []string
			least      int
		}{{"a change of weights", "class", weights, 1}, {"a change of rules", "rules", rules, 1}, {"no change", "", nothing, 0}} {
			if len(c.steps) < c.least || (c.least == 0 && len(c.steps) > 0) {
				t.Errorf("%s makes the steps %q", c.name, c.steps)
			}
			for _, step := range c.steps {
				if classifies := strings.Contains(step, "rules") || strings.Contains(step, "classifier"); classifies != (c.mark == "rules") {
					t.Errorf("%s makes the step %q", c.name, step)
				}
			}
		}
		t.Logf("weights: %q, rules: %q", weights, rules)
		return err
	})
}

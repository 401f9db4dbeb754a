// Package plan compiles a policy for the network of a scenario, without a
// control plane: paths and pairs come from the file instead of from routers.
//
// In: a scenario, and the policy that a phase names. Out: one vendor-neutral
// plan per router. Next: lab/experiments/qos pushes them to virtual routers,
// services/twin/predict simulates them.
package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/millrace/millrace/policies"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// Routers compiles a policy for the scenario's network: one plan for each router of `on` that has a part in it.
func Routers(s *scenario.Scenario, use *scenario.PolicyUse) ([]compile.RouterPlan, error) {
	policy, err := loadPolicy(s, use)
	if err != nil {
		return nil, err
	}
	in := network(s)
	in.Policy = policy
	if compile.AlphaRedirect(policy) >= 0 {
		rule, why := compile.AlphaRule(policy, compile.Tags{}) // a scenario's pairs have none
		if why != "" {
			return nil, fmt.Errorf("policy %s: %s", policy.Name, why)
		}
		in.Pairs = pairs(s, use, rule)
	}
	in.Pairs = append(in.Pairs, between(s, policy)...)
	in.Paths, in.NoPath = paths(s, compile.Demands(policy, in.Pairs))
	in.ECMP, in.Unreachable = ecmp(s, compile.RouterPairs(policy, in.Pairs))
	compiled, err := compile.Compile(in)
	if err != nil {
		return nil, err
	}
	for _, left := range compiled.Skipped {
		return nil, fmt.Errorf("pair %s was left out: %s", left.Pair, left.Why)
	}
	plans := slices.DeleteFunc(compiled.Plans, func(p compile.RouterPlan) bool {
		return len(use.On) > 0 && !slices.Contains(use.On, p.Router)
	})
	if len(plans) == 0 {
		return nil, errors.New("it gives no router anything to do")
	}
	return plans, nil
}

// loadPolicy finds a policy beside the scenario, else among those shipped, and
// changes its weights and buffers as the scenario says.
func loadPolicy(s *scenario.Scenario, use *scenario.PolicyUse) (document.Policy, error) {
	file, err := s.Policy(use.Use)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = shippedPolicy(use.Use)
	}
	if err != nil {
		return document.Policy{}, fmt.Errorf("no policy %s beside the scenario or among those shipped: %w", use.Use, err)
	}
	p, problems := document.Parse(file.Name, string(file.Text))
	if err := document.Join(problems); err != nil {
		return document.Policy{}, err
	}
	if len(use.Weights)+len(use.Buffers) == 0 {
		return *p, nil
	}
	changed, problems := document.WithWeights(*p, use.Weights, use.Buffers)
	return changed, document.Join(problems)
}

func shippedPolicy(name string) (scenario.PolicyFile, error) {
	if path.Ext(name) == "" {
		name += ".yaml"
	}
	text, err := fs.ReadFile(policies.Files, name)
	return scenario.PolicyFile{Name: path.Join("policies", name), Text: text}, err
}

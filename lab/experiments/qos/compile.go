package qos

import (
	"errors"
	"fmt"
	"strings"

	"github.com/millrace/millrace/scenario"
	compiled "github.com/millrace/millrace/scenario/plan"
	"github.com/millrace/millrace/services/policy/render/openconfig"
)

// plan is what each router shall hold: units by path, by router. A router that
// is not in it shall hold nothing.
type plan map[string]map[string]string

// compile makes the plans of every policy the scenario names.
func (r *run) compile() error {
	r.plans = map[*scenario.PolicyUse]plan{}
	for i := range r.scenario.Phases {
		p := &r.scenario.Phases[i]
		uses := []*scenario.PolicyUse{p.Policy}
		for j := range p.Changes {
			uses = append(uses, &p.Changes[j].Policy)
		}
		for _, use := range uses {
			if use == nil || use.Use == "" {
				continue // a change of costs alone
			}
			made, err := makePlan(r.scenario, use)
			if err != nil {
				return fmt.Errorf("policy %s of phase %s: %w", use.Use, p.Name, err)
			}
			r.plans[use] = made
		}
	}
	return nil
}

// makePlan is pure but for reading the policy's file.
func makePlan(s *scenario.Scenario, use *scenario.PolicyUse) (plan, error) {
	switch {
	case use.Use == scenario.NoPolicy:
		return plan{}, nil
	case strings.HasSuffix(use.Use, ".json"):
		return verbatim(s, use)
	}
	plans, err := compiled.Routers(s, use)
	if err != nil {
		return nil, err
	}
	out := plan{}
	for _, routerPlan := range plans {
		list, err := openconfig.Units(routerPlan)
		if err != nil {
			return nil, err
		}
		out[routerPlan.Router] = map[string]string{}
		for _, u := range list {
			out[routerPlan.Router][u.Path] = u.JSON
		}
	}
	return out, nil
}

// verbatim takes a file of OpenConfig as an operator or a test suite of others
// would send it (RFC 7951), for every router of `on`.
func verbatim(s *scenario.Scenario, use *scenario.PolicyUse) (plan, error) {
	file, err := s.Policy(use.Use)
	if err != nil {
		return nil, fmt.Errorf("read OpenConfig: %w", err)
	}
	units, err := splitTree(file.Text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", use.Use, err)
	}
	out := plan{}
	for _, name := range use.On {
		out[name] = units
	}
	if len(out) == 0 {
		return nil, errors.New("say with on: which routers get it")
	}
	return out, nil
}

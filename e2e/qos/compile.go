package qos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millrace/millrace/e2e/scenario"
	"github.com/millrace/millrace/internal/ocunit"
	"github.com/millrace/millrace/policies"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
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
	plans, err := RouterPlans(s, use)
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

// RouterPlans compiles a policy for the scenario's network: one plan for each router of `on` that has a part in it.
func RouterPlans(s *scenario.Scenario, use *scenario.PolicyUse) ([]compile.RouterPlan, error) {
	policy, err := loadPolicy(s, use)
	if err != nil {
		return nil, err
	}
	in := network(s)
	in.Policy = policy
	if rule := compile.AlphaRedirect(policy); rule >= 0 {
		in.Pairs = pairs(s, use, rule)
	}
	in.Paths, in.NoPath = paths(s, compile.Demands(policy, in.Pairs))
	in.Ways, in.NoWay = ways(s, compile.Crossings(policy, in.Pairs))
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

// verbatim takes a file of OpenConfig as an operator or a test suite of others
// would send it (RFC 7951), for every router of `on`.
func verbatim(s *scenario.Scenario, use *scenario.PolicyUse) (plan, error) {
	raw, err := os.ReadFile(filepath.Join(s.Folder, use.Use))
	if err != nil {
		return nil, fmt.Errorf("read OpenConfig: %w", err)
	}
	units, err := splitTree(raw)
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

// loadPolicy finds a policy beside the scenario, else among those shipped, and
// changes its weights and buffers as the scenario says.
func loadPolicy(s *scenario.Scenario, use *scenario.PolicyUse) (document.Policy, error) {
	name := use.Use
	if !strings.HasSuffix(name, ".yaml") {
		name += ".yaml"
	}
	path := filepath.Join(s.Folder, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		path = filepath.Join("policies", name)
		text, err = fs.ReadFile(policies.Files, name)
	}
	if err != nil {
		return document.Policy{}, fmt.Errorf("no policy %s beside the scenario or among those shipped: %w", use.Use, err)
	}
	p, problems := document.Parse(path, string(text))
	if err := document.Join(problems); err != nil {
		return document.Policy{}, err
	}
	if len(use.Weights)+len(use.Buffers) == 0 {
		return *p, nil
	}
	changed, problems := document.WithWeights(*p, use.Weights, use.Buffers)
	return changed, document.Join(problems)
}

// splitTree makes units of one document with everything.
func splitTree(raw []byte) (map[string]string, error) {
	units := map[string]string{}
	for _, root := range ocunit.Roots() {
		part, err := subtree(raw, root)
		if err != nil {
			return nil, err
		}
		if part == nil {
			continue
		}
		some, err := ocunit.Split(root, part)
		if err != nil {
			return nil, err
		}
		for path, unit := range some {
			units[path] = unit
		}
	}
	if len(units) == 0 {
		return nil, errors.New("holds nothing whose name begins with te-")
	}
	return units, nil
}

package qos

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/scenario/plan"
	"github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/render/openconfig"
)

// renderers are those of the lab's routers, which all run the router agent.
var renderers = policy.Renderers{device.OSMillrace: {
	Syntax: "openconfig", Encoding: configentry.JSONIETF, Entries: openconfig.Entries, Text: openconfig.Text,
}}

// compile makes the plans of every policy the scenario names.
func (r *run) compile() error {
	r.plans = map[*scenario.PolicyUse]*policyv1.PlanResponse{}
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
func makePlan(s *scenario.Scenario, use *scenario.PolicyUse) (*policyv1.PlanResponse, error) {
	switch {
	case use.Use == scenario.NoPolicy:
		return &policyv1.PlanResponse{}, nil
	case strings.HasSuffix(use.Use, ".json"):
		return verbatim(s, use)
	}
	plans, err := plan.Routers(s, use)
	if err != nil {
		return nil, err
	}
	return renderers.Response(compile.Result{Plans: plans}, policy.Request{Inventory: &device.Inventory{}})
}

// verbatim takes a file of OpenConfig as an operator or a test suite of others
// would send it (RFC 7951), for every router of `on`.
func verbatim(s *scenario.Scenario, use *scenario.PolicyUse) (*policyv1.PlanResponse, error) {
	file, err := s.Policy(use.Use)
	if err != nil {
		return nil, fmt.Errorf("read OpenConfig: %w", err)
	}
	entries, err := splitTree(file.Text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", use.Use, err)
	}
	if len(use.On) == 0 {
		return nil, errors.New("say with on: which routers get it")
	}
	out := &policyv1.PlanResponse{}
	for _, name := range use.On {
		router := &policyv1.RouterPlan{Router: name, Reasons: []string{"the scenario sends " + use.Use}}
		for _, path := range slices.Sorted(maps.Keys(entries)) {
			router.Entries = append(router.Entries, &policyv1.ConfigEntry{Path: path, Encoding: policyv1.Encoding_ENCODING_JSON_IETF, Body: entries[path]})
		}
		out.Plans = append(out.Plans, router)
	}
	return out, nil
}

package push

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/drift"
)

// circuitLSP is what the name of every LSP of a circuit begins with, see compile.CircuitLSPName.
const circuitLSP = "te-circuit-"

// moreThanAsked lists, one sentence each, what a change set that was requested because of circuits, or of a split,
// changes beyond those: no person has approved those changes of the policy.
func (c *Component) moreThanAsked(ctx context.Context, cs *pushv1.ChangeSet, devices []*pushv1.DeviceChange) (out []string, err error) {
	what, rest := "circuits", withoutCircuits
	switch {
	case cs.GetForSplit():
		what, rest = "splits", withoutSplits
	case !cs.GetForCircuits():
		return nil, nil
	}
	all, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		force, err := c.inForceOn(ctx, all, d.GetDevice())
		if err != nil {
			return nil, err
		}
		undone := slices.ContainsFunc(force.steps, func(s drift.Step) bool { return s.Did == drift.Undid })
		switch {
		case force.known == drift.Unsure:
			out = append(out, fmt.Sprintf("it is unknown what change sets left on %s", d.GetDevice()))
		case undone:
			out = append(out, fmt.Sprintf("a change set was rolled back on %s by hand, and no other one is in force there since", d.GetDevice()))
		case !proto.Equal(rest(force.plan), rest(d.GetPlan())):
			out = append(out, fmt.Sprintf("it changes more than %s on %s", what, d.GetDevice()))
		}
	}
	return out, nil
}

// withoutCircuits is what of a plan depends neither on circuits nor on links that come and go. The lists of rules, and
// the interfaces they are bound to, follow from the rules, and how all of it is rendered from the rest.
func withoutCircuits(p *policyv1.RouterPlan) *policyv1.RouterPlan {
	out := shallow(p, "lsps", "rules", "rule_interfaces", "filters", "entries", "rendered", "reasons", "router", "ports", "profiles", "attachments")
	for _, l := range p.GetLsps() {
		if !strings.HasPrefix(l.GetName(), circuitLSP) {
			out.Lsps = append(out.Lsps, l)
		}
	}
	for _, r := range p.GetRules() {
		if r.GetCircuit() == "" {
			out.Rules = append(out.Rules, r)
		}
	}
	return out
}

package push

import (
	"context"
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/device"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/push/drift"
)

// leftAlone are the routers that a change set leaves as they are, each with the reason: those that the topology lacks,
// whose intended config is unknown, and those that would lose a pair or circuit which the plan lacks while the topology
// lacks a router: that router may be the one where it ends.
func (c *Component) leftAlone(ctx context.Context, plan *policyv1.PlanResponse, routers []device.Device) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range plan.GetAbsent() {
		out[name] = "the topology does not know it right now, so its intended configuration is unknown; see `millrace paths show`"
	}
	missing := undecided(plan)
	if len(missing) == 0 {
		return out, nil
	}
	all, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range routers {
		if out[d.Name] != "" {
			continue
		}
		force, err := c.inForceOn(ctx, all, d.Name)
		switch {
		case err != nil:
			return nil, err
		case force.known == drift.Unsure, force.known == drift.Known && force.plan == nil:
			out[d.Name] = fmt.Sprintf("it is unknown what change sets left on it, and while the topology does not know %s some of that may have to stay", plan.GetAbsent()[0])
		default:
			out[d.Name] = loses(force.plan, missing, plan.GetAbsent()[0])
		}
	}
	return out, nil
}

// undecided are the pairs and circuits that the plan lacks while the topology lacks a router.
func undecided(plan *policyv1.PlanResponse) map[string]bool {
	out := map[string]bool{}
	if len(plan.GetAbsent()) == 0 {
		return out
	}
	for _, s := range plan.GetSkipped() {
		out["pair "+s.GetPair()] = true
	}
	for _, s := range plan.GetRefusedCircuits() {
		out["circuit "+s.GetCircuit()] = true
	}
	return out
}

// loses is why a router with this plan in force must keep it; empty where nothing of it is missing.
func loses(force *policyv1.RouterPlan, missing map[string]bool, absent string) string {
	var has []string
	for _, r := range force.GetRules() {
		has = append(has, "pair "+r.GetPair(), "circuit "+r.GetCircuit())
	}
	for _, a := range force.GetAttachments() {
		has = append(has, "circuit "+a.GetCircuit())
	}
	if i := slices.IndexFunc(has, func(name string) bool { return missing[name] }); i >= 0 {
		return fmt.Sprintf("it has %s, which cannot be planned while the topology does not know %s", has[i], absent)
	}
	return ""
}

// leftOut are the notes on pairs and circuits that the plan lacks.
func leftOut(plan *policyv1.PlanResponse) (notes []string) {
	for _, s := range plan.GetSkipped() {
		notes = append(notes, fmt.Sprintf("pair %s is left out: %s", s.GetPair(), s.GetReason()))
	}
	for _, s := range plan.GetRefusedCircuits() {
		notes = append(notes, fmt.Sprintf("circuit %s is refused: %s", s.GetCircuit(), s.GetReason()))
	}
	return notes
}

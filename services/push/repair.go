package push

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/state"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/drift"
	"github.com/millrace/millrace/services/push/rollout"
)

// byRule signs the approval of a repair that no person gave.
const byRule = "rule push.reconcile.answer"

// askedFor is the outcome of the last repair of a router.
func (c *Component) askedFor(ctx context.Context, was *pushv1.Drift, j judgement) (drift.Asked, error) {
	switch {
	case was.GetRepair() == "":
		return drift.NotAsked, nil
	case c.now().Before(was.GetAsked().AsTime().Add(c.cfg.Reconcile.AskAgain)):
		return drift.Lately, nil
	case was.GetDigest() != j.digest:
		return drift.NotAsked, nil
	}
	cs, _, err := c.load(ctx, was.GetRepair())
	if errors.Is(err, state.ErrNotFound) {
		return drift.NotAsked, nil
	}
	if s := states[cs.GetState()]; s == rollout.Draft || s == rollout.Planned || s == rollout.Approved || s == rollout.Scheduled {
		return drift.Waiting, err
	}
	return drift.NotAsked, err
}

// askRepair makes the change set that restores a router's intended config, and runs it where the rule is
// auto. Its id follows from the drift and the repair before it, so that a second request after a crash
// makes no second one.
func (c *Component) askRepair(ctx context.Context, was *pushv1.Drift, j judgement, run bool) (*pushv1.ChangeSet, error) {
	router, force := was.GetRouter(), j.force.change
	reason := j.sentence(router)
	cs, err := c.draft(ctx, &pushv1.ChangeSet{
		Id: newID("drift " + router + " " + j.digest + " " + was.GetRepair()), Title: "Repair of " + router, Author: rollout.Self,
		Reason: reason, Policy: force.GetPolicy(), Repairs: []string{router},
	})
	if err == nil && run {
		cs, err = c.runRepair(ctx, cs, reason)
	}
	return cs, err
}

// runRepair approves and applies a repair. One that may not be applied now waits for a person.
func (c *Component) runRepair(ctx context.Context, cs *pushv1.ChangeSet, reason string) (*pushv1.ChangeSet, error) {
	for _, step := range []struct {
		from pushv1.State
		do   func() (*pushv1.ChangeSet, error)
	}{
		{pushv1.State_STATE_PLANNED, func() (*pushv1.ChangeSet, error) {
			return c.approve(ctx, &pushv1.ApproveRequest{Id: cs.GetId(), By: byRule, Note: "it is repair, and " + reason})
		}},
		{pushv1.State_STATE_APPROVED, func() (*pushv1.ChangeSet, error) { return c.apply(ctx, cs.GetId(), byRule) }},
	} {
		if cs.GetState() != step.from {
			continue
		}
		next, err := step.do()
		if errors.Is(err, errWrongState) {
			c.deps.Log.Warn("repair waits for a person", "change", cs.GetId(), "error", err)
			return cs, nil
		}
		if err != nil {
			return cs, err
		}
		cs = next
	}
	return cs, nil
}

// planRepair is the plan of a repair: for each of its routers what change sets left on it.
func (c *Component) planRepair(ctx context.Context, cs *pushv1.ChangeSet) (*policyv1.PlanResponse, []device.Device, error) {
	all, err := c.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	out, routers := &policyv1.PlanResponse{}, []device.Device(nil)
	for _, name := range cs.GetRepairs() {
		d, known := c.deps.Inventory.ByName(name)
		if !known {
			return nil, nil, fmt.Errorf("router %s is no longer in the inventory", name)
		}
		force, err := c.inForceOn(ctx, all, name)
		if err != nil {
			return nil, nil, err
		}
		if force.known != drift.Known {
			return nil, nil, fmt.Errorf("the intended configuration of %s is unknown at present: a change set on it has not ended, or its outcome is unknown", name)
		}
		vendor, err := c.deps.Vendors.Of(d)
		if err != nil {
			return nil, nil, err
		}
		plan := shallow(force.plan, "entries") // entries alone where the plan is not known
		plan.Router = name
		for _, path := range slices.Sorted(maps.Keys(force.entries)) {
			plan.Entries = append(plan.Entries, &policyv1.ConfigEntry{Path: path, Encoding: vendor.Encoding.ToProto(), Body: force.entries[path]})
		}
		plan.Reasons = []string{"restores what change set " + force.change.GetId() + " left"}
		out.Plans, routers = append(out.Plans, plan), append(routers, d)
	}
	return out, routers, nil
}

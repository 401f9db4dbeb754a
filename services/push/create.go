package push

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/trace"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// newID is the same for the same idempotency key, so that the record's own
// key in etcd is what makes a request unique.
func newID(key string) string {
	if key == "" {
		return "c-" + strings.ToLower(rand.Text()[:8])
	}
	sum := sha256.Sum256([]byte(key))
	return "c-" + hex.EncodeToString(sum[:5])
}

// create drafts what is requested and plans it.
func (c *Component) create(ctx context.Context, req *pushv1.CreateRequest) (*pushv1.ChangeSet, error) {
	who, _ := rights.From(ctx)
	return c.draft(ctx, &pushv1.ChangeSet{
		Id: newID(req.GetIdempotencyKey()), Title: cmp.Or(req.GetTitle(), "Policy "+req.GetPolicy()), Author: req.GetAuthor(), Reason: req.GetReason(),
		Policy: req.GetPolicy(), Pairs: req.GetPairs(), Predict: req.GetPredict(), Nightly: req.GetNightly(),
		ForCircuits: req.GetForCircuits(), Splits: req.GetSplits(), ForSplit: req.GetForSplit(), Ask: req.GetAsk(),
		Limits: rights.LimitsMessage(who.Limits),
	})
}

// draft records a change set and plans it, unless it was requested before.
func (c *Component) draft(ctx context.Context, cs *pushv1.ChangeSet) (*pushv1.ChangeSet, error) {
	at, err := c.created(ctx)
	if err != nil {
		return nil, err
	}
	cs.Created, cs.State, cs.TraceParent = at, pushv1.State_STATE_DRAFT, trace.Parent(ctx)
	cs.History = c.transitions([]rollout.Move{{To: rollout.Draft, By: cs.GetAuthor(), Note: cs.GetReason()}})
	_, err = c.deps.State.Put(ctx, recordPrefix+cs.GetId(), 0, fit(cs))
	if errors.Is(err, state.ErrConflict) {
		existing, _, err := c.load(ctx, cs.GetId())
		if err != nil || existing.GetState() != pushv1.State_STATE_DRAFT {
			return existing, err
		}
		return c.planFor(ctx, cs.GetId()) // the process that drafted it may have been cut off
	}
	if err != nil {
		return nil, err
	}
	c.announce(ctx, cs)
	return c.planFor(ctx, cs.GetId())
}

// planFor plans a draft to the end, also when the client that requested it disconnects.
func (c *Component) planFor(ctx context.Context, id string) (*pushv1.ChangeSet, error) {
	type result struct {
		cs  *pushv1.ChangeSet
		err error
	}
	done := make(chan result, 1) // planning ends without a reader, too
	c.runs.Go(func(running context.Context) {
		release, free := c.active.take(id) // planLeft leaves it alone
		cs, err := c.plan(running, id)
		if free {
			release()
		}
		done <- result{cs, err}
	})
	select {
	case r := <-done:
		return r.cs, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// plan fills a draft: it compares every router's intended config with the running one, again where a change set began
// meanwhile or a router had a commit pending. A draft whose routers do not come to rest stays one.
func (c *Component) plan(ctx context.Context, id string) (*pushv1.ChangeSet, error) {
	for {
		cs, _, err := c.load(ctx, id)
		if err != nil || states[cs.GetState()] != rollout.Draft {
			return cs, err
		}
		steps, why, err := c.atRest(ctx, cs)
		if err == nil && why == "" {
			planned, planErr := c.planOnce(ctx, cs, steps)
			pending := (*pendingError)(nil)
			switch {
			case errors.As(planErr, &pending):
				why, err = c.settled(ctx, cs, pending)
			case !errors.Is(planErr, errMoved):
				return planned, planErr
			}
		}
		switch {
		case err != nil:
			return cs, err // planLeft plans it
		case why != "" && len(cs.GetRepairs()) > 0:
			return c.unplanned(ctx, id, errors.New(why)) // reconcile asks for another one, which it runs
		case why != "":
			cs, _, err = c.load(ctx, id) // with its note
			return cs, err
		}
	}
}

func (c *Component) planOnce(ctx context.Context, cs *pushv1.ChangeSet, steps map[string]int) (*pushv1.ChangeSet, error) {
	ctx, span := trace.Child(trace.Resume(ctx, cs.GetTraceParent()), "plan change set")
	span.Set("change", cs.GetId())
	planned, err := c.planDraft(ctx, cs, steps)
	span.End(err)
	return planned, err
}

// planDraft plans a draft whose routers were at rest when change sets had made these steps.
func (c *Component) planDraft(ctx context.Context, cs *pushv1.ChangeSet, steps map[string]int) (*pushv1.ChangeSet, error) {
	id, requested, draft := cs.GetId(), cs.GetSplits(), cs
	plan, routers, planErr := c.intended(ctx, cs)
	if why := tooManyCircuits(plan.GetCircuits()); planErr == nil && why != "" {
		planErr = errors.New(why)
	}
	if planErr != nil {
		return c.unplanned(ctx, id, planErr)
	}
	alone, err := c.leftAlone(ctx, plan, routers)
	if err != nil {
		return c.unplanned(ctx, id, err)
	}
	is, err := c.compare(ctx, plan, routers, alone)
	if err != nil {
		return cs, err
	}
	if no := beyond(cs, is.devices); no != nil {
		cs, err := c.unplanned(ctx, id, no)
		return cs, errors.Join(err, no)
	}
	for _, d := range is.devices {
		if err := c.contents.save(ctx, d); err != nil {
			return c.unplanned(ctx, id, err)
		}
	}
	size := sizeOf(is.devices)
	over, err := c.overBudget(ctx, cs, size)
	if err != nil {
		return c.unplanned(ctx, id, err)
	}
	rule, err := c.ruleFor(ctx, cs, is.devices, over)
	if err != nil {
		return c.unplanned(ctx, id, err)
	}
	ours := false
	cs, _, err = c.decide(ctx, id, is.event(), func(m *pushv1.ChangeSet, _ rollout.ChangeSet) error {
		if err := c.unmoved(ctx, draft, steps); err != nil {
			return err
		}
		m.Devices, m.LeftAlone, m.Canary, ours = is.devices, is.left, c.canaryOf(is.devices), true
		m.Notes = slices.Concat(is.notes, leftOut(plan), refusedSplits(requested, plan))
		m.Splits, m.SplitsBefore = followedSplits(cs.GetSplitsBefore(), requested, plan, is.left), cs.GetSplitsBefore()
		m.Circuits, m.RefusedCircuits = plan.GetCircuits(), plan.GetRefusedCircuits()
		m.Size, m.ApprovalRule = sizeToProto(size), rule
		return nil
	})
	if err == nil && ours && AwaitsPrediction(cs) {
		c.predictLater(id, is.devices)
	}
	if err == nil && ours && len(over) > 0 {
		c.events.Publish(ctx, events.BudgetExceeded, id, fmt.Sprintf("change set %s waits for a person: %s", id, strings.Join(over, "; ")))
	}
	if err == nil && ours && goesByItself(cs) {
		c.runs.Go(func(ctx context.Context) { c.goOn(ctx, cs) })
	}
	return cs, err
}

// intended is the intended config of the change set's routers. A policy is about all routers.
func (c *Component) intended(ctx context.Context, cs *pushv1.ChangeSet) (*policyv1.PlanResponse, []device.Device, error) {
	if len(cs.GetRepairs()) > 0 {
		return c.planRepair(ctx, cs)
	}
	if err := c.addSplits(ctx, cs); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.planningTime())
	defer cancel()
	r, err := c.deps.Policy.Plan(ctx, connect.NewRequest(&policyv1.PlanRequest{Policy: cs.GetPolicy(), Splits: cs.GetSplits()}))
	if err != nil {
		return nil, nil, err
	}
	return r.Msg, c.deps.Inventory.Devices, nil
}

// policyTime is how long the policy service may take for an answer. A replica that stands still is found after 10 s
// (internal/rpc), and the request then goes on at another one: half a minute by default is enough for both.
func (c *Component) policyTime() time.Duration { return 3 * c.cfg.CallTimeout }

// planningTime is policyTime for each 16 routers, because one plan is about all of them.
func (c *Component) planningTime() time.Duration {
	return c.policyTime() * time.Duration(1+len(c.deps.Inventory.Devices)/parallelRouters)
}

// unplanned ends a draft, unless the process is ending: then the draft stays, and is planned at the next start.
func (c *Component) unplanned(ctx context.Context, id string, cause error) (*pushv1.ChangeSet, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	cs, _, err := c.load(ctx, id)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("policy %s could not be planned: %v", cs.GetPolicy(), cause)
	cs, _, err = c.decide(ctx, id, rollout.Event{Kind: rollout.NoPlan, Text: text}, alone)
	return cs, err
}

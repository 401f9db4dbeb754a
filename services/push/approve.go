package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/guard"
	"github.com/millrace/millrace/services/push/rollout"
)

// approve is one person's approval. The last one that the rule requires makes the change set APPROVED.
func (c *Component) approve(ctx context.Context, req *pushv1.ApproveRequest) (*pushv1.ChangeSet, error) {
	cs, _, err := c.decideFrom(ctx, req.GetId(), func(m *pushv1.ChangeSet) (rollout.Event, error) {
		e := rollout.Event{Kind: rollout.Approve, By: req.GetBy(), Text: req.GetNote()}
		if states[m.GetState()] != rollout.Planned {
			return e, nil // which the machine refuses
		}
		rule := ruleOf(m)
		enough, refusal := rule.Approve(m.GetAuthor(), approvers(m), req.GetBy())
		if refusal != "" {
			return e, fmt.Errorf("change set %s: %w: %s", m.GetId(), errWrongState, refusal)
		}
		if e.More = !enough; rule.Persons > 1 {
			e.Text = strings.TrimSuffix(fmt.Sprintf("approval %d of %d: %s", len(m.GetApprovals())+1, rule.Persons, req.GetNote()), ": ")
		}
		return e, nil
	}, func(m *pushv1.ChangeSet, _ rollout.ChangeSet) error {
		m.Approvals = append(m.Approvals, &pushv1.Approval{By: req.GetBy(), Note: req.GetNote(), Time: timestamppb.Now()})
		return nil
	})
	return cs, err
}

// ruleOf is the rule under which a change set was planned; one from before there were rules needs one person.
func ruleOf(m *pushv1.ChangeSet) guard.Rule {
	if m.GetApprovalRule() == nil {
		return guard.Rule{Persons: 1}
	}
	return guard.Rule{Persons: int(m.GetApprovalRule().GetPersons()), NotAuthor: m.GetApprovalRule().GetOtherThanAuthor()}
}

// ruleFor returns the rule of a change set that is being planned, with these parts of routers, and that
// exceeds the nightly budget by this. Reasons against the rule auto are noted also where a person approves
// in any case, for that person to read.
func (c *Component) ruleFor(ctx context.Context, m *pushv1.ChangeSet, devices []*pushv1.DeviceChange, over []string) (*pushv1.ApprovalRule, error) {
	beyond, err := c.moreThanAsked(ctx, m, devices)
	if err != nil {
		return nil, err
	}
	rule := c.cfg.approvalOf(m.GetPolicy())
	if m.GetForCircuits() && len(beyond) == 0 {
		rule = c.cfg.ApprovalForCircuits.rule()
	}
	if m.GetForSplit() && len(beyond) == 0 && c.cfg.ApprovalForSplits.Rule != "" {
		rule = c.cfg.ApprovalForSplits.rule()
	}
	if m.GetAsk() {
		beyond = append(beyond, m.GetAuthor()+" wants a person to decide")
	}
	if m.GetAsk() || len(over) > 0 || len(m.GetRepairs()) > 0 { // push.reconcile.answer sets who approves a repair
		rule.Persons = max(rule.Persons, 1)
	}
	return &pushv1.ApprovalRule{Persons: uint32(rule.Persons), OtherThanAuthor: rule.NotAuthor, Because: slices.Concat(over, beyond)}, nil
}

func approvers(m *pushv1.ChangeSet) (out []string) {
	for _, a := range m.GetApprovals() {
		out = append(out, a.GetBy())
	}
	return out
}

// goesByItself reports whether a change set's next step needs no request. One whose wait was aborted is
// approved again, by a person, and waits for a request.
func goesByItself(m *pushv1.ChangeSet) bool {
	if ruleOf(m).Persons > 0 || len(m.GetHistory()) == 0 {
		return false
	}
	last := m.GetHistory()[len(m.GetHistory())-1]
	s := states[m.GetState()]
	return s == rollout.Planned || s == rollout.Approved && last.GetBy() == byApprovalRule
}

// byApprovalRule signs approvals that no person gave.
const byApprovalRule = "rule push.approval"

// goOn approves and applies a change set whose rule is auto. Where a guard forbids it, takeUpAll tries
// again later.
func (c *Component) goOn(ctx context.Context, m *pushv1.ChangeSet) {
	c.logLater(ctx, m, c.goOnce(ctx, m))
}

// logLater is about an error that another attempt follows; that a guard forbids it is none.
func (c *Component) logLater(ctx context.Context, m *pushv1.ChangeSet, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, errWrongState) {
		c.deps.Log.Warn("change set not applied by itself; will try again", "change", m.GetId(), "error", err)
	}
}

func (c *Component) goOnce(ctx context.Context, m *pushv1.ChangeSet) error {
	if states[m.GetState()] == rollout.Planned {
		e := rollout.Event{Kind: rollout.Approve, By: byApprovalRule, Text: "policy " + m.GetPolicy() + " has the approval rule auto"}
		switch sure := len(m.GetApprovalRule().GetBecause()) == 0; {
		case sure && m.GetForCircuits():
			e.Text = "it changes nothing but circuits, which have the approval rule auto"
		case sure && m.GetForSplit():
			e.Text = "it changes nothing but splits, which have the approval rule auto"
		}
		if _, _, err := c.decide(ctx, m.GetId(), e, alone); err != nil {
			return err
		}
	}
	_, err := c.apply(ctx, m.GetId(), byApprovalRule)
	return err
}

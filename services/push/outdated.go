package push

import (
	"context"
	"fmt"
	"slices"

	"connectrpc.com/connect"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// current refuses to begin a change set whose plan is outdated, and ends it: it could never be applied.
// While that is unknown it stays as it is.
func (c *Component) current(ctx context.Context, id string) error {
	m, _, err := c.load(ctx, id)
	if err != nil || !rollout.Allows(states[m.GetState()], rollout.Outdated) {
		return err // what may not begin the machine refuses
	}
	why, err := c.superseded(ctx, m)
	if err == nil && why == "" {
		why, err = c.circuitsOver(ctx, m)
	}
	if err != nil || why == "" {
		return err
	}
	if _, _, err := c.decide(ctx, id, rollout.Event{Kind: rollout.Outdated, Text: why}, alone); err != nil {
		return err
	}
	return fmt.Errorf("change set %s: %w: %s; request a new one", id, errWrongState, why)
}

// superseded names a newer change set of the same policy that is in force, or that found every router with
// its intended config: a plan is the whole intended config, so an older one undoes later decisions. So it is with one
// that was planned before others' splits came into force.
func (c *Component) superseded(ctx context.Context, m *pushv1.ChangeSet) (string, error) {
	all, err := c.readable(ctx)
	if err != nil {
		return "", err
	}
	for _, other := range slices.Backward(all) {
		if supersedes(other, m) {
			return fmt.Sprintf("it was planned before change set %s, which is in force", other.GetId()), nil
		}
	}
	return splitsMoved(all, m), nil
}

// supersedes compares when two plans were made. A repair restores what was in force when it was planned, so for it
// counts what was applied since on one of its routers.
func supersedes(other, m *pushv1.ChangeSet) bool {
	s := states[other.GetState()]
	if other.GetId() == m.GetId() || other.GetPolicy() != m.GetPolicy() || len(other.GetRepairs()) > 0 || s != rollout.Verified && s != rollout.Empty {
		return false
	}
	if len(m.GetRepairs()) == 0 {
		return plannedAt(other).After(plannedAt(m))
	}
	return len(sharedRouters(m, other)) > 0 && appliedAt(other) > plannedAt(m).UnixNano()
}

// circuitsOver returns the circuits of a plan that are no longer in force: another circuit may have their
// capacity by now.
func (c *Component) circuitsOver(ctx context.Context, m *pushv1.ChangeSet) (string, error) {
	if len(m.GetCircuits()) == 0 {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.policyTime())
	defer cancel()
	r, err := c.deps.Policy.Circuits(ctx, connect.NewRequest(&policyv1.CircuitsRequest{}))
	if err != nil {
		return "", connect.NewError(connect.CodeUnavailable, fmt.Errorf("change set %s: it is unknown whether its circuits are in force: %w", m.GetId(), err))
	}
	over := slices.DeleteFunc(slices.Clone(m.GetCircuits()), func(id string) bool { return slices.Contains(r.Msg.GetCircuits(), id) })
	switch len(over) {
	case 0:
		return "", nil
	case 1:
		return "circuit " + over[0] + " of its plan is no longer in force", nil
	}
	return fmt.Sprintf("circuit %s and %d more of its plan are no longer in force", over[0], len(over)-1), nil
}

// outdated is looked for again under the locks, before the first commit: what was in force when the run began may have
// changed since. Whatever is not known stops the run here, for nothing was sent yet.
func (r *run) outdated(ctx context.Context) (string, error) {
	m := r.record
	if states[m.GetState()] == rollout.RollingBack || slices.ContainsFunc(m.GetDevices(), func(d *pushv1.DeviceChange) bool { return d.GetCommitId() != "" }) {
		return "", nil
	}
	why, err := r.c.superseded(ctx, m)
	if err != nil || why != "" {
		return why, err
	}
	why, err = r.c.circuitsOver(ctx, m)
	if err != nil {
		why = err.Error()
	}
	return why, nil
}

package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/lifecycle"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// restEvery is the interval between two looks at all records while a draft waits.
const restEvery = 2 * time.Second

// errMoved: a change set began on the routers of a draft while it was planned, so what was read of them may be rolled
// back again.
var errMoved = errors.New("a change set began on its routers meanwhile")

// atRest waits until no change set is in motion on the routers of a draft, and none may have left a commit pending:
// a router that is read before may roll back what it shows. steps are those that change sets had made by then. why is
// what a draft still waits for after CommitTimeout; takeUpAll plans it again.
func (c *Component) atRest(ctx context.Context, draft *pushv1.ChangeSet) (steps map[string]int, why string, err error) {
	said := ""
	for deadline := c.now().Add(c.cfg.CommitTimeout); ; lifecycle.Pause(ctx, restEvery) {
		all, err := c.readable(ctx)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, "", err
		}
		if why = awaited(all, c.comparedWith(draft), c.now()); why == "" {
			return begunOn(all, c.comparedWith(draft)), "", nil
		}
		if why != said {
			if err := c.noteWait(ctx, draft.GetId(), why); err != nil {
				return nil, "", err
			}
			said = why
		}
		if c.now().After(deadline) {
			return nil, why, nil
		}
	}
}

// comparedWith are the routers that a draft is compared with: a policy is about all of them.
func (c *Component) comparedWith(draft *pushv1.ChangeSet) (out []string) {
	if len(draft.GetRepairs()) > 0 {
		return draft.GetRepairs()
	}
	for _, d := range c.deps.Inventory.Devices {
		out = append(out, d.Name)
	}
	return out
}

// awaited is what a draft of these routers waits for; empty for nothing.
func awaited(all []*pushv1.ChangeSet, routers []string, now time.Time) string {
	for _, m := range all {
		moves := states[m.GetState()].InMotion()
		for _, d := range m.GetDevices() {
			s := routerStates[d.GetState()]
			pending := (s == rollout.RouterUnknown || s == rollout.RouterApplied) && now.Before(d.GetRollbackAt().AsTime().Add(expiryGrace))
			switch {
			case !slices.Contains(routers, d.GetDevice()):
			case moves:
				return fmt.Sprintf("it is planned when change set %s, which is under way on router %s, has ended", m.GetId(), d.GetDevice())
			case pending:
				return fmt.Sprintf("it is planned when router %s has rolled back what change set %s may have left pending there", d.GetDevice(), m.GetId())
			}
		}
	}
	return ""
}

// noteWait shows what a draft waits for; planning replaces its notes.
func (c *Component) noteWait(ctx context.Context, id, why string) error {
	m, _, err := c.load(ctx, id)
	if err != nil || states[m.GetState()] != rollout.Draft || slices.Equal(m.GetNotes(), []string{why}) {
		return err
	}
	_, _, err = c.update(ctx, id, func(m *pushv1.ChangeSet) error {
		if states[m.GetState()] == rollout.Draft {
			m.Notes = []string{why}
		}
		return nil
	})
	return err
}

// begunOn counts the steps of each change set of these routers that was ever begun.
func begunOn(all []*pushv1.ChangeSet, routers []string) map[string]int {
	out := map[string]int{}
	for _, m := range all {
		if appliedAt(m) != 0 && slices.ContainsFunc(touched(m.GetDevices()), func(name string) bool { return slices.Contains(routers, name) }) {
			out[m.GetId()] = len(m.GetHistory())
		}
	}
	return out
}

// unmoved fails if a change set has gone on, since atRest, on the routers of a draft: each is recorded before anything
// of it is sent.
func (c *Component) unmoved(ctx context.Context, draft *pushv1.ChangeSet, steps map[string]int) error {
	all, err := c.readable(ctx)
	if err != nil {
		return err
	}
	for id, n := range begunOn(all, c.comparedWith(draft)) {
		if n != steps[id] {
			return errMoved
		}
	}
	return nil
}

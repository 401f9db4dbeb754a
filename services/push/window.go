package push

import (
	"context"
	"fmt"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// apply runs an approved change set, or has it wait for the maintenance window. The move is a compare-and-set, so only
// one caller runs it.
func (c *Component) apply(ctx context.Context, id, by string) (*pushv1.ChangeSet, error) {
	open, next := c.window.Open(c.now())
	if open {
		return c.start(ctx, id, rollout.Event{Kind: rollout.Apply, By: by})
	}
	why := fmt.Sprintf("the maintenance window (%s) opens %s", c.window, next.Format("2006-01-02 15:04 MST"))
	cs, _, err := c.decide(ctx, id, rollout.Event{Kind: rollout.Apply, By: by, Text: why}, alone)
	return cs, err
}

// beginScheduled runs a change set that has waited for the window, in the name of its requester.
func (c *Component) beginScheduled(ctx context.Context, m *pushv1.ChangeSet) error {
	if open, _ := c.window.Open(c.now()); !open {
		return nil
	}
	by := m.GetHistory()[len(m.GetHistory())-1].GetBy()
	_, err := c.start(ctx, m.GetId(), rollout.Event{Kind: rollout.Begin, By: by})
	return err
}

package push

import (
	"context"
	"errors"
	"fmt"
	"strings"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// oneLine puts joined errors into one history note.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// errRestarted is the cause of rolling back what the last process left pending.
var errRestarted = errors.New("the control plane restarted before it was verified")

// resumeAll resumes every change set that is neither waiting for a person nor finished.
func (c *Component) resumeAll(ctx context.Context) error {
	all, err := c.list(ctx)
	if err != nil {
		return fmt.Errorf("read change sets: %w", err)
	}
	for _, cs := range all {
		if inForce(cs) {
			err := c.contents.fillAll(ctx, cs)
			if errors.Is(err, errUnreadable) {
				if err = c.unreadable(ctx, cs, err); err == nil {
					continue
				}
			}
			if err != nil {
				return err
			}
		}
		c.resume(cs)
	}
	return nil
}

// unreadable ends a change set whose plans are lost: nobody knows what to send or to restore.
func (c *Component) unreadable(ctx context.Context, cs *pushv1.ChangeSet, cause error) error {
	_, err := c.update(ctx, cs.GetId(), func(cs *pushv1.ChangeSet) error {
		step(cs, move{pushv1.State_STATE_FAILED, self, "look at its routers: " + oneLine(cause)})
		return nil
	})
	return err
}

// resume continues one change set. A draft is planned again, which changes no
// router. A change set that was being applied is rolled back. One that every
// router has and that is verified is confirmed.
func (c *Component) resume(cs *pushv1.ChangeSet) {
	last := cs.GetHistory()[len(cs.GetHistory())-1]
	switch cs.GetState() {
	case pushv1.State_STATE_DRAFT:
		c.runs.Go(func(ctx context.Context) {
			if _, err := c.plan(ctx, cs.GetId()); err != nil {
				c.deps.Log.Warn("draft not planned", "change", cs.GetId(), "error", err)
			}
		})
	case pushv1.State_STATE_APPLYING:
		c.resumeRun(c.newRun(cs, applying, self), func(context.Context) error { return errRestarted })
	case pushv1.State_STATE_ROLLING_BACK:
		c.resumeRun(c.newRun(cs, rollingBack, self), func(context.Context) error { return errRestarted })
	case pushv1.State_STATE_APPLIED:
		r := c.newRun(cs, applying, last.GetBy())
		c.resumeRun(r, r.confirmAll)
	}
}

func (c *Component) resumeRun(r *run, part func(context.Context) error) {
	c.deps.Log.Info("resuming a change set", "change", r.id, "direction", r.dir.name)
	c.runs.Go(func(ctx context.Context) { r.locked(ctx, part) })
}

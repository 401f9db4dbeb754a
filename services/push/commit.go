package push

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
)

// preflight checks a router before any router is sent a commit: it answers, it
// honours commit-confirm, and its config has not drifted since the plan was made.
func (r *run) preflight(ctx context.Context, name string) error {
	changes, err := r.changes(ctx, name)
	if err != nil {
		return err
	}
	err = r.ask(ctx, name, func(ctx context.Context, d driver.Driver) error { return d.Probe(ctx) })
	if err != nil {
		return r.fail(ctx, name, r.dir.refused, err)
	}
	running, err := r.snapshot(ctx, name)
	if err != nil {
		return r.fail(ctx, name, r.dir.refused, err)
	}
	if drift := diff.Mismatches(running, changes, diff.Before); drift != nil {
		return r.fail(ctx, name, r.dir.refused, fmt.Errorf(
			"config drift since this change set was planned, so nothing was sent: %s; ask for a new change set", strings.Join(drift, ", ")))
	}
	return nil
}

// commit sends one router its changes. The commit id and the time of the router's
// auto-rollback are recorded first, so that after a crash the record shows which
// commits may be pending.
func (r *run) commit(ctx context.Context, name string) error {
	changes, err := r.changes(ctx, name)
	if err != nil {
		return err
	}
	c := driver.Commit{ID: r.commitID(name), Rollback: r.rollback(), Changes: changes}
	if err := r.device(ctx, name, func(d *pushv1.DeviceChange) {
		d.State, d.CommitId, d.Error, d.Checks = pushv1.DeviceState_DEVICE_STATE_UNKNOWN, c.ID, "", nil
		d.RollbackAt = timestamppb.New(r.c.now().Add(c.Rollback))
	}); err != nil {
		return err
	}
	err = r.send(ctx, name, c)
	if errors.Is(err, driver.ErrLost) {
		r.count(name, "lost")
		err = r.settle(ctx, name, c)
	}
	switch {
	case err == nil:
		r.count(name, "applied")
		return r.device(ctx, name, func(d *pushv1.DeviceChange) {
			d.State = pushv1.DeviceState_DEVICE_STATE_APPLIED
			if r.dir.observed {
				d.Applied = timestamppb.Now()
			}
		})
	case errors.Is(err, driver.ErrLost):
		return r.fail(ctx, name, pushv1.DeviceState_DEVICE_STATE_UNKNOWN, err)
	}
	r.count(name, "refused")
	return r.fail(ctx, name, r.dir.refused, fmt.Errorf("refused: %w", err))
}

func (r *run) count(router, result string) {
	r.c.metrics.commits.WithLabelValues(router, result).Inc()
}

func (r *run) send(ctx context.Context, name string, c driver.Commit) error {
	return r.tell(ctx, name, func(ctx context.Context, d driver.Driver) error { return d.Commit(ctx, c) })
}

// poll is the interval between two requests to a router that is not ready yet.
const poll = 250 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// settle reads the router back after the answer to a commit was lost. If the
// router's config lacks the changes, the commit is sent once more, under the
// same id.
func (r *run) settle(ctx context.Context, name string, c driver.Commit) error {
	resent, last := false, driver.ErrLost
	for deadline := time.Now().Add(r.c.cfg.CallTimeout + r.extra[name]); ctx.Err() == nil && time.Now().Before(deadline); pause(ctx, poll) {
		running, err := r.snapshot(ctx, name)
		switch {
		case err != nil:
			last = err
		case diff.Mismatches(running, c.Changes, diff.After) == nil:
			return nil
		case !resent:
			resent = true
			if last = r.send(ctx, name, c); last == nil {
				return nil
			}
		default:
			// It refused the second commit and has not finished the first.
		}
	}
	return fmt.Errorf("%w: %w", driver.ErrLost, last)
}

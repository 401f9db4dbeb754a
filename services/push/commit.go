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

// preflight looks before anything is sent anywhere: the router answers, would
// take a commit back, and still holds what the plan was compared with.
func (r *run) preflight(ctx context.Context, name string) error {
	changes, err := r.changes(ctx, name)
	if err != nil {
		return err
	}
	err = r.ask(ctx, name, func(ctx context.Context, d driver.Driver) error { return d.Probe(ctx) })
	if err != nil {
		return r.fail(ctx, name, r.dir.refused, err)
	}
	units, err := r.snapshot(ctx, name)
	if err != nil {
		return r.fail(ctx, name, r.dir.refused, err)
	}
	if drift := diff.Holds(units, changes, diff.Before); drift != nil {
		return r.fail(ctx, name, r.dir.refused, fmt.Errorf(
			"changed since this change set was planned, so nothing was sent: %s; ask for a new change set", strings.Join(drift, ", ")))
	}
	return nil
}

// commit sends one router its part. The intention is on record first, with the
// id and the moment the router would go back by itself: whoever finds the
// record after a crash knows what may be pending.
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

// poll is how often a router is asked again.
const poll = 250 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// settle finds out what became of a commit whose answer was lost. It is sent
// once more, under the same id, if the router does not have it.
func (r *run) settle(ctx context.Context, name string, c driver.Commit) error {
	resent, last := false, driver.ErrLost
	for deadline := time.Now().Add(r.c.cfg.CallTimeout + r.extra[name]); ctx.Err() == nil && time.Now().Before(deadline); pause(ctx, poll) {
		units, err := r.snapshot(ctx, name)
		switch {
		case err != nil:
			last = err
		case diff.Holds(units, c.Changes, diff.After) == nil:
			return nil
		case !resent:
			resent = true
			if last = r.send(ctx, name, c); last == nil {
				return nil
			}
		default:
			// It refused the second and does not have the first, or not yet.
		}
	}
	return fmt.Errorf("%w: %w", driver.ErrLost, last)
}

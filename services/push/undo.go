package push

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
)

// rollBack undoes on every router what this run committed there.
func (r *run) rollBack(ctx context.Context) {
	err := r.each(ctx, r.all(), func(ctx context.Context, name string) error {
		d, err := r.recorded(ctx, name)
		if err != nil {
			return err
		}
		switch {
		case d.GetCommitId() != r.commitID(name):
			return nil // nothing of this run was sent here
		case d.GetState() == pushv1.DeviceState_DEVICE_STATE_APPLIED, d.GetState() == pushv1.DeviceState_DEVICE_STATE_UNKNOWN:
			return r.cancel(ctx, d)
		case d.GetState() == r.dir.done:
			return r.revert(ctx, d)
		}
		return nil // refused: a Set is all or nothing
	})
	if err != nil {
		r.c.deps.Log.Warn("change set not rolled back everywhere", "change", r.id, "error", err)
	}
}

// expiryGrace is how much later than announced a router's auto-rollback may be.
const expiryGrace = 5 * time.Second

// cancel rolls back a pending commit. A router that does not answer rolls back by
// itself on time-out; it is asked until that time has passed.
func (r *run) cancel(ctx context.Context, d *pushv1.DeviceChange) error {
	name, deadline, told := d.GetDevice(), d.GetRollbackAt().AsTime().Add(expiryGrace), false
	for {
		err := r.tell(ctx, name, func(ctx context.Context, router driver.Driver) error { return router.Cancel(ctx, d.GetCommitId()) })
		if err != nil && !errors.Is(err, driver.ErrLost) {
			err = r.settled(ctx, d, err)
		}
		switch {
		case err == nil:
			cause := d.GetError() // why it was rolled back, and not what was recorded while waiting
			return r.device(ctx, name, func(d *pushv1.DeviceChange) { d.State, d.Error = r.dir.undone, cause })
		case errors.Is(err, errConfirmed):
			return r.revert(ctx, d)
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, driver.ErrLost) || r.c.now().After(deadline):
			return r.fail(ctx, name, pushv1.DeviceState_DEVICE_STATE_UNKNOWN, fmt.Errorf("could not be rolled back, look at the router: %w", err))
		case !told:
			told = true
			text := fmt.Sprintf("does not answer; it rolls the commit back by itself at %s: %v", d.GetRollbackAt().AsTime().Format(time.TimeOnly), err)
			if err := r.device(ctx, name, func(d *pushv1.DeviceChange) { d.Error = text }); err != nil {
				return err
			}
		}
		pause(ctx, poll)
	}
}

// errConfirmed means that no commit is pending and the running config is the new one.
var errConfirmed = errors.New("the new configuration is confirmed")

// settled reads a router that refused to cancel: nil if nothing is pending any more and its config is the old one.
func (r *run) settled(ctx context.Context, d *pushv1.DeviceChange, cause error) error {
	pending, err := r.pending(ctx, d.GetDevice())
	if err != nil || pending {
		return errors.Join(driver.ErrLost, err, cause)
	}
	running, err := r.snapshot(ctx, d.GetDevice())
	changes := r.dir.changes(d)
	switch {
	case err != nil:
		return err
	case diff.Mismatches(running, changes, diff.Before) == nil:
		return nil
	case diff.Mismatches(running, changes, diff.After) == nil:
		return errConfirmed
	}
	return fmt.Errorf("its running config is neither the old nor the new one, somebody else changed it: %v", diff.Mismatches(running, changes, diff.Before))
}

// revert undoes a router that had confirmed already, with a commit of the
// reversed changes: another router failed after it.
func (r *run) revert(ctx context.Context, d *pushv1.DeviceChange) error {
	name := d.GetDevice()
	c := driver.Commit{ID: d.GetCommitId() + "-undo", Rollback: r.rollback(), Changes: diff.Reverse(r.dir.changes(d))}
	err := r.send(ctx, name, c)
	if err != nil {
		err = r.settle(ctx, name, c)
	}
	if pending, _ := r.pending(ctx, name); pending { // sent by the last process, too
		err = r.tell(ctx, name, func(ctx context.Context, router driver.Driver) error { return router.Confirm(ctx, c.ID) })
	}
	if err != nil {
		return r.fail(ctx, name, d.GetState(), fmt.Errorf("could not be rolled back, look at the router: %w", err))
	}
	return r.device(ctx, name, func(d *pushv1.DeviceChange) { d.State = r.dir.undone })
}

// end records the outcome of the run.
func (r *run) end(ctx context.Context, cause error) error {
	_, err := r.c.update(ctx, r.id, func(cs *pushv1.ChangeSet) error {
		step(cs, r.outcome(cs, cause))
		return nil
	})
	return err
}

func (r *run) outcome(cs *pushv1.ChangeSet, cause error) move {
	count := map[pushv1.DeviceState]int{}
	for _, d := range cs.GetDevices() {
		count[d.GetState()]++
	}
	total, unknown := len(cs.GetDevices()), count[pushv1.DeviceState_DEVICE_STATE_UNKNOWN]
	switch {
	case cause == nil:
		return move{r.dir.success, r.by, "confirmed on " + r.in(cs, r.dir.done)}
	case unknown > 0:
		return move{pushv1.State_STATE_FAILED, self, fmt.Sprintf("%v; not known to be in its old state: %s", oneLine(cause), r.in(cs, pushv1.DeviceState_DEVICE_STATE_UNKNOWN))}
	case r.dir.name == rollingBack.name:
		return r.outcomeOfRollback(count[r.dir.undone] == total, cause)
	case count[r.dir.done] > 0:
		return move{pushv1.State_STATE_FAILED, self, fmt.Sprintf("%v; could not be rolled back: %s", oneLine(cause), r.in(cs, r.dir.done))}
	case count[r.dir.undone] > 0:
		return move{pushv1.State_STATE_ROLLED_BACK, self, fmt.Sprintf("%v; every router is back in its old state", oneLine(cause))}
	}
	return move{pushv1.State_STATE_FAILED, self, fmt.Sprintf("%v; no router was changed", oneLine(cause))}
}

// in names the routers that are in a state.
func (r *run) in(cs *pushv1.ChangeSet, s pushv1.DeviceState) string {
	var out []string
	for _, d := range cs.GetDevices() {
		if d.GetState() == s {
			out = append(out, d.GetDevice())
		}
	}
	return strings.Join(out, ", ")
}

// outcomeOfRollback: after a rollback that failed the change set is in force on all routers or on some.
func (r *run) outcomeOfRollback(whole bool, cause error) move {
	if whole {
		return move{pushv1.State_STATE_VERIFIED, self, fmt.Sprintf("not rolled back, still in force everywhere: %v", oneLine(cause))}
	}
	return move{pushv1.State_STATE_FAILED, self, fmt.Sprintf("rolled back on some routers only, see each: %v", oneLine(cause))}
}

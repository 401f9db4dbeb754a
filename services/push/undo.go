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

// back takes from every router what this run gave it.
func (r *run) back(ctx context.Context) {
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
		r.c.deps.Log.Warn("change set not taken back everywhere", "change", r.id, "error", err)
	}
}

// expiryGrace is how much later than announced a router may go back by itself.
const expiryGrace = 5 * time.Second

// cancel takes a pending commit back. A router that does not answer goes back
// by itself; it is asked until that moment has passed.
func (r *run) cancel(ctx context.Context, d *pushv1.DeviceChange) error {
	name, deadline, told := d.GetDevice(), d.GetRollbackAt().AsTime().Add(expiryGrace), false
	for {
		err := r.tell(ctx, name, func(ctx context.Context, router driver.Driver) error { return router.Cancel(ctx, d.GetCommitId()) })
		if errors.Is(err, driver.ErrNotPending) {
			err = r.whatIsThere(ctx, d)
		}
		switch {
		case err == nil:
			cause := d.GetError() // what led here, instead of what was told while waiting
			return r.device(ctx, name, func(d *pushv1.DeviceChange) { d.State, d.Error = r.dir.undone, cause })
		case errors.Is(err, errStillThere):
			return r.revert(ctx, d)
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, driver.ErrLost) || r.c.now().After(deadline):
			return r.fail(ctx, name, pushv1.DeviceState_DEVICE_STATE_UNKNOWN, fmt.Errorf("could not be taken back, look at the router: %w", err))
		case !told:
			told = true
			text := fmt.Sprintf("does not answer; it goes back to its old configuration by itself at %s: %v", d.GetRollbackAt().AsTime().Format(time.TimeOnly), err)
			if err := r.device(ctx, name, func(d *pushv1.DeviceChange) { d.Error = text }); err != nil {
				return err
			}
		}
		pause(ctx, poll)
	}
}

// errStillThere means that nothing is pending and the new configuration is in force.
var errStillThere = errors.New("the new configuration is in force")

// whatIsThere reads a router on which nothing is pending any more.
func (r *run) whatIsThere(ctx context.Context, d *pushv1.DeviceChange) error {
	units, err := r.snapshot(ctx, d.GetDevice())
	changes := r.dir.changes(d)
	switch {
	case err != nil:
		return err
	case diff.Holds(units, changes, diff.Before) == nil:
		return nil
	case diff.Holds(units, changes, diff.After) == nil:
		return errStillThere
	}
	return fmt.Errorf("it holds neither the old nor the new configuration, somebody else changed it: %v", diff.Holds(units, changes, diff.Before))
}

// revert undoes a router that had confirmed already, by sending it the way
// back: another router failed after it.
func (r *run) revert(ctx context.Context, d *pushv1.DeviceChange) error {
	name := d.GetDevice()
	c := driver.Commit{ID: d.GetCommitId() + "-undo", Rollback: r.rollback(), Changes: diff.Reverse(r.dir.changes(d))}
	err := r.send(ctx, name, c)
	if errors.Is(err, driver.ErrLost) {
		err = r.settle(ctx, name, c)
	}
	if err == nil {
		err = r.tell(ctx, name, func(ctx context.Context, router driver.Driver) error { return router.Confirm(ctx, c.ID) })
	}
	if err != nil {
		return r.fail(ctx, name, d.GetState(), fmt.Errorf("could not be taken back, look at the router: %w", err))
	}
	return r.device(ctx, name, func(d *pushv1.DeviceChange) { d.State = r.dir.undone })
}

// end writes the last line of the run.
func (r *run) end(ctx context.Context, cause error) error {
	_, err := r.c.update(ctx, r.id, func(cs *pushv1.ChangeSet) error {
		step(cs, r.last(cs, cause))
		return nil
	})
	return err
}

func (r *run) last(cs *pushv1.ChangeSet, cause error) move {
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
		return r.lastOfRollback(count[r.dir.undone] == total, cause)
	case count[r.dir.done] > 0:
		return move{pushv1.State_STATE_FAILED, self, fmt.Sprintf("%v; could not be taken back: %s", oneLine(cause), r.in(cs, r.dir.done))}
	case count[r.dir.undone] > 0:
		return move{pushv1.State_STATE_ROLLED_BACK, self, fmt.Sprintf("%v; every router is back in its old state", oneLine(cause))}
	}
	return move{pushv1.State_STATE_FAILED, self, fmt.Sprintf("%v; no router took it", oneLine(cause))}
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

// lastOfRollback: a rollback that failed leaves the change set in force, wholly or not.
func (r *run) lastOfRollback(whole bool, cause error) move {
	if whole {
		return move{pushv1.State_STATE_VERIFIED, self, fmt.Sprintf("not rolled back, still in force everywhere: %v", oneLine(cause))}
	}
	return move{pushv1.State_STATE_FAILED, self, fmt.Sprintf("rolled back on some routers only, see each: %v", oneLine(cause))}
}

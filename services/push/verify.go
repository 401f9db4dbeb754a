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

// verify checks a router until every check passes, for at most VerifyFor: an LSP
// takes a moment to come up.
func (r *run) verify(ctx context.Context, name string) error {
	changes, err := r.changes(ctx, name)
	if err != nil {
		return err
	}
	intended, err := r.intended(ctx, name)
	if err != nil {
		return err
	}
	var checks []driver.Check
	for deadline := time.Now().Add(r.c.cfg.VerifyFor + r.extra[name]); ctx.Err() == nil; pause(ctx, poll) {
		checks = r.look(ctx, name, changes, intended)
		if failed(checks) == "" || time.Now().After(deadline) {
			break
		}
	}
	err = r.device(ctx, name, func(d *pushv1.DeviceChange) {
		d.Checks = nil
		for _, c := range checks {
			d.Checks = append(d.Checks, mark(c)+c.Text)
		}
		if what := failed(checks); what != "" {
			d.Error = "verification failed: " + what
		}
	})
	if what := failed(checks); what != "" {
		return errors.Join(fmt.Errorf("%s: verification failed: %s", name, what), err)
	}
	return err
}

func mark(c driver.Check) string {
	if c.OK {
		return "ok: "
	}
	return "FAILED: "
}

func failed(checks []driver.Check) string {
	var out []string
	for _, c := range checks {
		if !c.OK {
			out = append(out, c.Text)
		}
	}
	return strings.Join(out, "; ")
}

// intended is the config whose effects must show in the router's state; a rollback looks for none.
func (r *run) intended(ctx context.Context, name string) (map[string]string, error) {
	if !r.dir.observed {
		return nil, nil
	}
	d, err := r.recorded(ctx, name)
	if err != nil {
		return nil, err
	}
	return entriesOf(d.GetPlan()), nil
}

// look reads the router once: first its configuration, then its state.
func (r *run) look(ctx context.Context, name string, changes []diff.Change, intended map[string]string) []driver.Check {
	running, err := r.snapshot(ctx, name)
	if err != nil {
		return []driver.Check{{Text: "the router does not answer: " + err.Error()}}
	}
	checks := []driver.Check{{OK: true, Text: fmt.Sprintf("running config has all %d changed entries", len(changes))}}
	if missing := diff.Mismatches(running, changes, diff.After); missing != nil {
		checks[0] = driver.Check{Text: "running config differs at " + strings.Join(missing, ", ")}
	}
	err = r.ask(ctx, name, func(ctx context.Context, d driver.Driver) error {
		state, err := d.Verify(ctx, intended)
		checks = append(checks, state...)
		return err
	})
	if err != nil {
		checks = append(checks, driver.Check{Text: "its state could not be read: " + err.Error()})
	}
	return checks
}

// confirm makes a router's commit permanent. A router that does not answer is
// asked again until the time of its auto-rollback.
func (r *run) confirm(ctx context.Context, name string) error {
	d, err := r.recorded(ctx, name)
	if err != nil || d.GetState() == r.dir.done {
		return err // confirmed before a restart
	}
	for ctx.Err() == nil {
		err = r.tell(ctx, name, func(ctx context.Context, router driver.Driver) error { return router.Confirm(ctx, d.GetCommitId()) })
		if err != nil && !errors.Is(err, driver.ErrLost) {
			err = r.confirmedBefore(ctx, name, err)
		}
		if !errors.Is(err, driver.ErrLost) || r.c.now().After(d.GetRollbackAt().AsTime()) {
			break
		}
		pause(ctx, poll)
	}
	switch {
	case err == nil:
		return r.device(ctx, name, func(d *pushv1.DeviceChange) {
			d.State = r.dir.done
			if r.dir.observed {
				d.Confirmed = timestamppb.Now()
			}
		})
	case errors.Is(err, driver.ErrLost):
		return r.fail(ctx, name, pushv1.DeviceState_DEVICE_STATE_UNKNOWN, fmt.Errorf("not confirmed in time: %w", err))
	}
	return r.fail(ctx, name, pushv1.DeviceState_DEVICE_STATE_UNKNOWN, err)
}

// confirmedBefore decides about a confirmation that was refused: nil if an earlier one arrived and only its answer was
// lost. Pending is asked first: what is read while a commit waits may be gone a moment later.
func (r *run) confirmedBefore(ctx context.Context, name string, cause error) error {
	changes, err := r.changes(ctx, name)
	if err != nil {
		return err
	}
	pending, err := r.pending(ctx, name)
	if err != nil || pending {
		return errors.Join(driver.ErrLost, err, cause)
	}
	running, err := r.snapshot(ctx, name)
	switch {
	case err != nil:
		return err
	case diff.Mismatches(running, changes, diff.After) == nil:
		return nil
	}
	return errors.New("the router rolled the change back before it was confirmed")
}

func (r *run) pending(ctx context.Context, name string) (pending bool, err error) {
	err = r.ask(ctx, name, func(ctx context.Context, router driver.Driver) error {
		pending, err = router.Pending(ctx)
		return err
	})
	return pending, err
}

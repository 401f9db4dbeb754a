package push

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/trace"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/rollout"
)

// poll is the interval between two requests to a router that is not ready yet.
const poll = 250 * time.Millisecond

// expiryGrace is how much later than announced a router's auto-rollback may be.
const expiryGrace = 5 * time.Second

// lateness reports, when the action begins, whether its time is over: the reason to give up a router must
// have been seen after that, and not while the time was running out.
func (r *run) lateness(a rollout.Action) func() bool {
	if !a.Again || r.since[a.Router].IsZero() {
		r.since[a.Router] = time.Now()
	}
	began, patience, expiry := r.since[a.Router], r.c.cfg.CallTimeout+r.extra[a.Router], deviceOf(r.record, a.Router).GetRollbackAt().AsTime()
	switch a.Until {
	case rollout.Patience:
		return func() bool { return time.Since(began) > patience }
	case rollout.Expiry:
		return func() bool { return r.c.now().After(expiry) }
	case rollout.Overdue:
		return func() bool { return r.c.now().After(expiry.Add(expiryGrace)) }
	}
	return func() bool { return false }
}

// as is the master that a request is of. Each has a turn of its own: a router that has answered one refuses what was
// sent before it and arrives late.
func (r *run) as(a rollout.Action) driver.Master {
	master := r.master
	master.Turn = uint64(a.Ticket)
	return master
}

// at does one action at its router.
func (r *run) at(ctx context.Context, a rollout.Action) rollout.Event {
	ctx, span := trace.Child(ctx, string(a.Do)+" "+a.Router)
	span.Set("router", a.Router)
	e := r.answer(ctx, a)
	var failed error
	if e.Result != rollout.Done {
		failed = errors.New(e.Text)
	}
	span.End(failed)
	return e
}

func (r *run) answer(ctx context.Context, a rollout.Action) rollout.Event {
	e := rollout.Event{Kind: rollout.Answer, Router: a.Router, Ticket: a.Ticket}
	var err error
	switch a.Do {
	case rollout.Check:
		err = r.check(ctx, a.Router)
	case rollout.Send:
		if err = r.unfrozen(ctx); err == nil {
			err = r.send(ctx, a, r.changes[a.Router])
		}
	case rollout.SendUndo:
		err = r.send(ctx, a, diff.Reverse(r.changes[a.Router]))
	case rollout.Confirm:
		err = r.tell(ctx, a.Router, func(ctx context.Context, d driver.Driver) error { return d.Confirm(ctx, r.as(a), a.Commit) })
	case rollout.Cancel:
		err = r.tell(ctx, a.Router, func(ctx context.Context, d driver.Driver) error { return d.Cancel(ctx, r.as(a), a.Commit) })
	case rollout.Look:
		err = r.look(ctx, a, &e)
	case rollout.Watch:
		e.Text, err = r.watch(ctx, a.Router)
	case rollout.Verify:
		e.Checks, err = r.verify(ctx, a.Router)
	}
	switch {
	case err == nil:
		e.Result = rollout.Done
	case errors.Is(err, driver.ErrLost):
		e.Result, e.Text = rollout.Lost, err.Error()
	default:
		e.Result, e.Text = rollout.Refused, err.Error()
	}
	return e
}

// check finds out whether a router answers, honours commit-confirm, has the config that the plan was made for, and has
// nothing of an operator's where it would be changed.
func (r *run) check(ctx context.Context, name string) error {
	if err := r.ask(ctx, name, func(ctx context.Context, d driver.Driver) error { return d.Probe(ctx) }); err != nil {
		return err
	}
	var running driver.Snapshot
	err := r.ask(ctx, name, func(ctx context.Context, d driver.Driver) (err error) {
		if running, err = d.Snapshot(ctx); err != nil {
			return err
		}
		return unbound(ctx, d, running, r.changes[name], r.back)
	})
	if err != nil {
		return err
	}
	if drift := r.differs(name, running.Entries, diff.Before); drift != nil {
		return fmt.Errorf("config drift since this change set was planned, so nothing was sent: %s; request a new change set", strings.Join(drift, ", "))
	}
	return nil
}

func (r *run) send(ctx context.Context, a rollout.Action, changes []diff.Change) error {
	c := driver.Commit{ID: a.Commit, Rollback: r.rollbackOf(a.Router), Changes: changes}
	back := r.back || a.Do == rollout.SendUndo
	err := r.tell(ctx, a.Router, func(ctx context.Context, d driver.Driver) error { return commitUnbound(ctx, d, r.as(a), c, back) })
	if errors.Is(err, errConflict) {
		r.c.deps.Log.Warn("router is sent nothing", "change", r.id, "router", a.Router, "error", err)
	}
	result := "applied"
	switch {
	case errors.Is(err, driver.ErrLost):
		result = "lost"
	case err != nil:
		result = "refused"
	}
	r.c.metrics.commits.WithLabelValues(a.Router, result).Inc()
	return err
}

// look reads which commit is pending before and after it reads the configuration: a commit that arrives
// late in between, or that is rolled back in between, must not be taken for one that is kept.
func (r *run) look(ctx context.Context, a rollout.Action, e *rollout.Event) error {
	name := a.Router
	before, err := r.pending(ctx, a)
	if err != nil {
		return err
	}
	running, err := r.snapshot(ctx, name)
	if err != nil {
		return err
	}
	after, err := r.pending(ctx, a)
	if err != nil {
		return err
	}
	e.Pending = before || after
	differs := diff.Mismatches(running, r.changes[name], diff.Before)
	switch {
	case differs == nil:
		e.Side = rollout.Before
	case diff.Mismatches(running, r.changes[name], diff.After) == nil:
		e.Side = rollout.After
	default:
		e.Side, e.Text = rollout.Other, fmt.Sprintf("its running config is neither the old nor the new one, somebody else changed it: %v", differs)
	}
	return nil
}

func (r *run) pending(ctx context.Context, a rollout.Action) (pending bool, err error) {
	err = r.ask(ctx, a.Router, func(ctx context.Context, d driver.Driver) error {
		pending, err = d.Pending(ctx, r.as(a))
		return err
	})
	return pending, err
}

func (r *run) snapshot(ctx context.Context, name string) (running map[string]string, err error) {
	err = r.ask(ctx, name, func(ctx context.Context, d driver.Driver) error {
		s, err := d.Snapshot(ctx)
		running = s.Entries
		return err
	})
	return running, err
}

// router returns the connection, opened at the first use and again after it was lost.
func (r *run) router(ctx context.Context, name string) (driver.Driver, error) {
	r.mu.Lock()
	open := r.open[name]
	r.mu.Unlock()
	if open != nil {
		return open, nil
	}
	d, known := r.c.deps.Inventory.ByName(name)
	if !known {
		return nil, fmt.Errorf("router %s is no longer in the inventory; put it back for this change set, or request a new one, which is planned without it", name)
	}
	fresh, err := r.c.deps.Vendors.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[name] = fresh
	return fresh, nil
}

// ask sends one request that changes nothing on the router.
func (r *run) ask(ctx context.Context, name string, do func(context.Context, driver.Driver) error) error {
	return r.call(ctx, name, r.c.cfg.CallTimeout, do)
}

// tell sends one request that changes the router; the answer arrives when it is done.
func (r *run) tell(ctx context.Context, name string, do func(context.Context, driver.Driver) error) error {
	return r.call(ctx, name, r.c.cfg.CommitTimeout, do)
}

func (r *run) call(ctx context.Context, name string, within time.Duration, do func(context.Context, driver.Driver) error) error {
	ctx, cancel := context.WithTimeout(ctx, within+r.extra[name])
	defer cancel()
	router, err := r.router(ctx, name)
	if err != nil {
		return err
	}
	err = do(ctx, router)
	if errors.Is(err, driver.ErrLost) {
		r.hangUp(name) // a new connection reaches a router that returned sooner than the old one would
	}
	return err
}

func (r *run) hangUp(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open := r.open[name]; open != nil {
		open.Close()
		delete(r.open, name)
	}
}

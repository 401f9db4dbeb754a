package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
)

// direction is whether a run applies a change set or rolls it back; both are the
// same steps with before and after exchanged.
type direction struct {
	name    string
	changes func(*pushv1.DeviceChange) []diff.Change
	// done is a router's state after its confirmation, undone after
	// its commit was rolled back, refused after it refused.
	done, undone, refused pushv1.DeviceState
	success               pushv1.State
	// observed runs verify the routers' state too, not only their configuration.
	observed bool
}

var applying = direction{
	name:    "apply",
	changes: func(d *pushv1.DeviceChange) []diff.Change { return changesFromProto(d.GetEntries()) },
	done:    pushv1.DeviceState_DEVICE_STATE_CONFIRMED, undone: pushv1.DeviceState_DEVICE_STATE_ROLLED_BACK,
	refused: pushv1.DeviceState_DEVICE_STATE_FAILED,
	success: pushv1.State_STATE_VERIFIED, observed: true,
}

var rollingBack = direction{
	name:    "rollback",
	changes: func(d *pushv1.DeviceChange) []diff.Change { return diff.Reverse(changesFromProto(d.GetEntries())) },
	done:    pushv1.DeviceState_DEVICE_STATE_ROLLED_BACK, undone: pushv1.DeviceState_DEVICE_STATE_CONFIRMED,
	refused: pushv1.DeviceState_DEVICE_STATE_CONFIRMED,
	success: pushv1.State_STATE_ROLLED_BACK,
}

// run applies one change set, or rolls it back.
type run struct {
	c   *Component
	id  string
	dir direction
	// by is who asked for it.
	by string
	// waves are the routers in the order in which they are changed; those of one wave at once.
	waves [][]string
	// extra is how much longer than CallTimeout, CommitTimeout and VerifyFor each router may take, see allowance.
	extra map[string]time.Duration
	// attempt numbers commits, so that a second rollback is not taken for the first.
	attempt int

	mu      sync.Mutex
	routers map[string]driver.Driver
}

func (c *Component) newRun(cs *pushv1.ChangeSet, dir direction, by string) *run {
	r := &run{c: c, id: cs.GetId(), dir: dir, by: by, routers: map[string]driver.Driver{}, extra: map[string]time.Duration{}}
	last := -1
	for _, d := range cs.GetDevices() {
		if rank(d) != last {
			r.waves = append(r.waves, nil)
		}
		last = rank(d)
		r.extra[d.GetDevice()] = allowance(dir.changes(d), c.cfg.CommitRate)
		r.waves[len(r.waves)-1] = append(r.waves[len(r.waves)-1], d.GetDevice())
	}
	if dir.name == rollingBack.name {
		slices.Reverse(r.waves)
		for _, t := range cs.GetHistory() {
			if t.GetState() == pushv1.State_STATE_ROLLING_BACK {
				r.attempt++
			}
		}
	}
	return r
}

func (r *run) commitID(router string) string {
	id := r.id + "-" + router + "-" + r.dir.name
	if r.attempt > 1 {
		id = fmt.Sprintf("%s-%d", id, r.attempt)
	}
	return id
}

// do runs the change set to its end. If ctx ends first, nothing more is written
// and the next Start resumes from the record.
func (r *run) do(ctx context.Context) { r.locked(ctx, r.forward) }

// locked does a part of a run with all its routers locked, and records the outcome.
func (r *run) locked(ctx context.Context, part func(context.Context) error) {
	err := r.underLock(ctx, part)
	if ctx.Err() != nil || errors.Is(err, errLockLost) {
		r.c.deps.Log.Info("change set interrupted; the next start resumes it", "change", r.id)
		return
	}
	// The locks are released before the outcome is recorded: who reads it may lock the routers at once.
	if err := r.end(ctx, err); err != nil {
		r.c.deps.Log.Error("outcome of change set not recorded; the next start resumes it", "change", r.id, "error", err)
	}
}

// errLockLost ends a run: the routers may be somebody else's from now on.
var errLockLost = errors.New("the locks of its routers were lost")

func (r *run) underLock(ctx context.Context, part func(context.Context) error) error {
	held, err := r.c.lock(ctx, r.id, r.all())
	if err != nil {
		return err
	}
	defer held.Release()
	defer r.closeAll()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-held.Lost():
			cancel(errLockLost)
		case <-ctx.Done():
		}
	}()
	if err = part(ctx); err != nil && ctx.Err() == nil {
		r.rollBack(ctx)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (r *run) forward(ctx context.Context) error {
	if err := r.each(ctx, r.all(), r.preflight); err != nil {
		return err
	}
	for _, wave := range r.waves {
		if err := r.each(ctx, wave, r.commit); err != nil {
			return err
		}
	}
	if err := r.each(ctx, r.all(), r.verify); err != nil {
		return err
	}
	if r.dir.name == applying.name {
		_, err := r.c.update(ctx, r.id, func(cs *pushv1.ChangeSet) error {
			step(cs, move{pushv1.State_STATE_APPLIED, self, "every router is verified; confirming"})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return r.confirmAll(ctx)
}

func (r *run) confirmAll(ctx context.Context) error {
	for _, wave := range r.waves {
		if err := r.each(ctx, wave, r.confirm); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) all() []string { return slices.Concat(r.waves...) }

// each does a step on some routers at once and joins the errors.
func (r *run) each(ctx context.Context, names []string, do func(context.Context, string) error) error {
	errs := make([]error, len(names))
	var g errgroup.Group
	g.SetLimit(parallelRouters)
	for i, name := range names {
		g.Go(func() error {
			errs[i] = do(ctx, name)
			return nil
		})
	}
	g.Wait() //nolint:errcheck // errors are in errs
	return errors.Join(errs...)
}

// router returns the connection, opened at the first use and again after it was lost.
func (r *run) router(ctx context.Context, name string) (driver.Driver, error) {
	r.mu.Lock()
	open := r.routers[name]
	r.mu.Unlock()
	if open != nil {
		return open, nil
	}
	d, known := r.c.deps.Inventory.ByName(name)
	if !known {
		return nil, fmt.Errorf("router %s is no longer in the inventory", name)
	}
	fresh, err := r.c.deps.Vendors.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.routers[name] = fresh
	return fresh, nil
}

func (r *run) closeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, open := range r.routers {
		open.Close()
	}
}

// ask makes one request that changes nothing on the router.
func (r *run) ask(ctx context.Context, name string, do func(context.Context, driver.Driver) error) error {
	return r.call(ctx, name, r.c.cfg.CallTimeout, do)
}

// rollback is how long a router waits for the confirmation of what this run sends it.
func (r *run) rollback() time.Duration { return rollbackAfter(r.c.cfg.RollbackAfter, r.waves, r.extra) }

// tell makes one request that changes the router; the answer comes when it is done.
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
	if open := r.routers[name]; open != nil {
		open.Close()
		delete(r.routers, name)
	}
}

func (r *run) snapshot(ctx context.Context, name string) (running map[string]string, err error) {
	err = r.ask(ctx, name, func(ctx context.Context, d driver.Driver) error {
		s, err := d.Snapshot(ctx)
		running = s.Entries
		return err
	})
	return running, err
}

// device edits one router's part of the record.
func (r *run) device(ctx context.Context, name string, edit func(*pushv1.DeviceChange)) error {
	_, err := r.c.update(ctx, r.id, func(cs *pushv1.ChangeSet) error {
		edit(deviceOf(cs, name))
		return nil
	})
	return err
}

// recorded reads one router's part of the record.
func (r *run) recorded(ctx context.Context, name string) (*pushv1.DeviceChange, error) {
	cs, _, err := r.c.load(ctx, r.id)
	if err != nil {
		return nil, err
	}
	d := deviceOf(cs, name)
	return d, r.c.contents.fill(ctx, d)
}

func (r *run) changes(ctx context.Context, name string) ([]diff.Change, error) {
	d, err := r.recorded(ctx, name)
	if err != nil {
		return nil, err
	}
	return r.dir.changes(d), nil
}

// fail records why a router's step failed, and returns it with the router's name.
func (r *run) fail(ctx context.Context, name string, state pushv1.DeviceState, cause error) error {
	err := r.device(ctx, name, func(d *pushv1.DeviceChange) { d.State, d.Error = state, cause.Error() })
	return errors.Join(fmt.Errorf("%s: %w", name, cause), err)
}

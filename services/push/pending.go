package push

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/lifecycle"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/driver"
)

// pendingError means that a commit is pending on a router, whatever the records say: it may roll back what it shows.
type pendingError struct{ router string }

func (e *pendingError) Error() string {
	return fmt.Sprintf("it is planned when no commit is pending on router %s any more", e.router)
}

// reading is a connection to a router for a plan.
type reading struct {
	name string
	driver.Driver
	// within is how long one request may take.
	within time.Duration
}

// open connects to a router.
func (c *Component) open(ctx context.Context, d device.Device, more time.Duration) (reading, error) {
	within := c.cfg.CallTimeout + more
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r, err := c.deps.Vendors.Open(ctx, d)
	return reading{d.Name, r, within}, err
}

// atRest fails if a commit is pending on the router. One that does not know commit-confirm, or lets this control plane
// read only, does not say that; it is refused before anything is sent to it.
func (r reading) atRest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.within)
	defer cancel()
	pending, err := r.Pending(ctx, driver.Master{})
	switch {
	case errors.Is(err, driver.ErrPendingUnknown):
		return nil
	case err == nil && pending:
		return &pendingError{r.name}
	}
	return err
}

// whole reads the router and what is in the way of its intended config.
func (r reading) whole(ctx context.Context, intended map[string]string) (running driver.Snapshot, conflicts []driver.Conflict, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.within)
	defer cancel()
	if running, err = r.Snapshot(ctx); err != nil {
		return running, nil, err
	}
	conflicts, err = r.Conflicts(ctx, running, written(running.Entries, intended))
	return running, conflicts, err
}

// settled waits until no commit is pending on a router, or it does not answer: planning tells that. why is what the
// draft still waits for after CommitTimeout.
func (c *Component) settled(ctx context.Context, draft *pushv1.ChangeSet, waits *pendingError) (why string, err error) {
	if err := c.noteWait(ctx, draft.GetId(), waits.Error()); err != nil {
		return "", err
	}
	for deadline := c.now().Add(c.cfg.CommitTimeout); ; {
		if lifecycle.Pause(ctx, restEvery); ctx.Err() != nil {
			return "", ctx.Err()
		}
		err := c.atRestOn(ctx, waits.router)
		if pending := (*pendingError)(nil); !errors.As(err, &pending) {
			return "", nil
		}
		if c.now().After(deadline) {
			return waits.Error(), nil
		}
	}
}

// atRestOn asks one router.
func (c *Component) atRestOn(ctx context.Context, router string) error {
	d, known := c.deps.Inventory.ByName(router)
	if !known {
		return nil
	}
	r, err := c.open(ctx, d, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.atRest(ctx)
}

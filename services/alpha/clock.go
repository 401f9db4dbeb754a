package alpha

import (
	"context"
	"errors"
	"github.com/millrace/millrace/internal/events"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

const (
	// tick is how often the wall clock is looked at. A long timer would sleep through a clock that is set.
	tick = 30 * time.Second
	// retryPending is how long a change set that services/push did not take waits.
	retryPending = 5 * time.Minute
)

// watchClock starts nightly runs and retries pending change sets.
func (c *Component) watchClock(ctx context.Context) {
	timer := time.NewTicker(tick)
	defer timer.Stop()
	ticks := 0
	for {
		if ticks%int(retryPending/tick) == 0 {
			c.retry(ctx)
		}
		ticks++
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		c.runIfDue(ctx)
	}
}

func (c *Component) runIfDue(ctx context.Context) {
	due, err := c.claim(ctx)
	if err != nil {
		c.deps.Log.WarnContext(ctx, "not known whether the nightly run is due", "error", err)
	}
	if !due {
		return
	}
	if _, err := c.run(ctx, &alphav1.NightlyRequest{}); err != nil && ctx.Err() == nil {
		c.events.Publish(ctx, events.NightlyFailed, "nightly", "The nightly run failed: "+err.Error()+". Repeat it with `millrace alpha nightly`.")
	}
}

// claim reports whether a run is due and takes it: of several replicas, the one that
// writes the schedule first runs.
func (c *Component) claim(ctx context.Context) (bool, error) {
	if c.at == nil {
		return false, nil
	}
	s := &alphav1.Schedule{}
	revision, err := c.deps.State.Get(ctx, keySchedule, s)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return false, err
	}
	var last time.Time
	if s.GetLast() != nil {
		last = s.GetLast().AsTime()
	}
	due, newLast := c.at.due(c.deps.Now(), last)
	if newLast.Equal(last) {
		return due, nil
	}
	_, err = c.deps.State.Put(ctx, keySchedule, revision, &alphav1.Schedule{Last: timestamppb.New(newLast)})
	if errors.Is(err, state.ErrConflict) {
		return false, nil
	}
	return due && err == nil, err
}

// retry requests a change set again that an earlier run left pending.
func (c *Component) retry(ctx context.Context) {
	if !c.running.TryLock() {
		return
	}
	defer c.running.Unlock()
	r, err := c.memory().read(ctx)
	if err == nil && r.generation.GetPending() != nil {
		_, err = c.deliver(ctx, r)
	}
	if err != nil && ctx.Err() == nil {
		c.deps.Log.WarnContext(ctx, "change set still pending", "error", err, "retry", retryPending)
	}
}

package alpha

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/events"
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

// runIfDue makes the scheduled run. Only a run that succeeded is done: after a failed run, and after a
// crash, the schedule has the time of the next attempt, and its window starts where this one's did.
func (c *Component) runIfDue(ctx context.Context) {
	due, claimed, err := c.claim(ctx)
	if err != nil {
		c.deps.Log.WarnContext(ctx, "not known whether the nightly run is due", "error", err)
	}
	if !due {
		return
	}
	_, err = c.run(ctx, &alphav1.NightlyRequest{})
	var asking *undeliveredError
	if err == nil || errors.As(err, &asking) {
		now := c.deps.Now()
		if err := c.reschedule(ctx, func(s schedule) schedule { return s.done(now) }); err != nil {
			c.deps.Log.WarnContext(ctx, "the nightly run is done, but may be made again", "error", err)
		}
		if _, err := c.effectiveness(ctx, false); err != nil && ctx.Err() == nil {
			c.deps.Log.WarnContext(ctx, "effectiveness of the last days is not known; it is tried again tomorrow, or when somebody asks", "error", err)
		}
	}
	switch {
	case err == nil || ctx.Err() != nil:
	case asking != nil:
		c.events.Publish(ctx, events.NightlyFailed, "nightly", fmt.Sprintf("The nightly run failed: %v.", err))
	default:
		c.events.Publish(ctx, events.NightlyFailed, "nightly", fmt.Sprintf("The nightly run failed: %v. Attempt %d is made at %s, over the same flows.",
			err, claimed.attempts+1, stamp(claimed.nextAttempt)))
	}
}

// claim reports whether a run is due and takes it: of several replicas, the one that writes the schedule first runs.
func (c *Component) claim(ctx context.Context) (due bool, claimed schedule, err error) {
	s, was, err := c.schedule(ctx) // also without a clock: metrics show what others' runs have judged
	if err != nil || c.at == nil {
		return false, s, err
	}
	due, claimed = c.at.due(c.deps.Now(), s)
	if claimed.equal(s) {
		return due, claimed, nil
	}
	err = c.putSchedule(ctx, was, claimed)
	if errors.Is(err, state.ErrConflict) {
		return false, claimed, nil
	}
	return due && err == nil, claimed, err
}

// storedSchedule is the schedule as etcd has it; without one the revision is 0.
type storedSchedule struct {
	record   *alphav1.Schedule
	revision int64
}

func (c *Component) schedule(ctx context.Context) (s schedule, is storedSchedule, err error) {
	is.record = &alphav1.Schedule{}
	is.revision, err = c.deps.State.Get(ctx, keySchedule, is.record)
	if errors.Is(err, state.ErrNotFound) {
		return schedule{}, is, nil
	}
	s = scheduleFromProto(is.record)
	c.metrics.judgedUntil(s.end)
	return s, is, err
}

// putSchedule replaces the schedule; what a newer process has added to it stays.
func (c *Component) putSchedule(ctx context.Context, was storedSchedule, next schedule) error {
	_, err := c.deps.State.Put(ctx, keySchedule, was.revision, state.KeepUnknown(was.record, next.toProto()))
	return err
}

// reschedule changes the schedule, also where another replica changes it at the same time.
func (c *Component) reschedule(ctx context.Context, change func(schedule) schedule) error {
	for {
		s, was, err := c.schedule(ctx)
		if err != nil {
			return err
		}
		next := change(s)
		if next.equal(s) {
			return nil
		}
		err = c.putSchedule(ctx, was, next)
		if err == nil {
			c.metrics.judgedUntil(next.end)
		}
		if !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
}

// retry requests a change set again that an earlier run left pending.
func (c *Component) retry(ctx context.Context) {
	if !c.running.TryLock() {
		return
	}
	defer c.running.Unlock()
	r, err := c.memory().read(ctx)
	if err == nil {
		c.metrics.pairs.Set(float64(len(r.pairs))) // those of other replicas, and of before this process, among them
		_, err = c.deliver(ctx, r)
	}
	if err != nil && ctx.Err() == nil {
		c.deps.Log.WarnContext(ctx, "change set still pending", "error", err, "retry", retryPending)
	}
}

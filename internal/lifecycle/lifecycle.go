// Package lifecycle starts components in dependency order and stops them in
// reverse.
//
// In: components in the order in which they depend on each other.
// Out: a group that is either wholly started or wholly stopped.
// Next: cmd/millrace.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Component is the contract every service and collector keeps: New is inert,
// Start returns once it serves, Stop returns once nothing of it runs. Start's
// context bounds the start, not the life; Stop's bounds the stop.
type Component interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// Named is a component with the name shown in errors.
type Named struct {
	Name string
	Component
}

// Group is a list of components in dependency order. Its Start and Stop are for
// one goroutine.
type Group struct {
	parts       []Named
	started     int
	stopTimeout time.Duration
}

// stopTimeout bounds one component's Stop, so that one that hangs cannot hold up the rest.
const stopTimeout = 15 * time.Second

// NewGroup lists components; the first is started first and stopped last.
func NewGroup(parts ...Named) *Group { return &Group{parts: parts, stopTimeout: stopTimeout} }

// Start starts all components; if one fails, those before it are stopped again.
// The one that failed has cleaned up after itself.
func (g *Group) Start(ctx context.Context) error {
	for _, p := range g.parts[g.started:] {
		err := ctx.Err() // interrupted between two components
		if err == nil {
			err = p.Start(ctx)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("start %s: %w", p.Name, err), g.Stop(ctx))
		}
		g.started++
	}
	return nil
}

// Stop stops the started components in reverse order and joins their errors.
// It does so even if ctx has ended, because the usual reason to stop is just
// that; the time is bounded per component instead.
func (g *Group) Stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for ; g.started > 0; g.started-- {
		p := g.parts[g.started-1]
		if err := g.stopOne(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

// stopOne gives up on a component that does not return, even if it does not
// look at its context: what it depends on is then stopped under it.
func (g *Group) stopOne(ctx context.Context, p Named) error {
	ctx, cancel := context.WithTimeout(ctx, g.stopTimeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(ctx) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	select { // it may have obeyed its context at this very moment
	case err := <-stopped:
		return err
	case <-time.After(g.stopTimeout / 10):
		return fmt.Errorf("gave up on it: %w", ctx.Err())
	}
}

// Package lifecycle starts components in dependency order and stops them in
// reverse.
//
// In: components in the order in which they depend on each other. Out: a group
// that is either wholly started or wholly stopped. Next: cmd/millrace.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Component is the contract every service and collector keeps: New is inert,
// Start returns once it serves, Stop returns once nothing of it runs.
type Component interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// Named is a component with the name shown in errors.
type Named struct {
	Name string
	Component
}

// Group is a list of components in dependency order.
type Group struct {
	parts   []Named
	started int
}

// NewGroup lists components; the first is started first and stopped last.
func NewGroup(parts ...Named) *Group { return &Group{parts: parts} }

// Start starts all components; if one fails, those before it are stopped again.
func (g *Group) Start(ctx context.Context) error {
	for _, p := range g.parts {
		if err := p.Start(ctx); err != nil {
			err = fmt.Errorf("start %s: %w", p.Name, err)
			return errors.Join(err, g.Stop(context.WithoutCancel(ctx)))
		}
		g.started++
	}
	return nil
}

// stopTimeout bounds one component's Stop, so that one that hangs cannot hold up the rest.
const stopTimeout = 15 * time.Second

// Stop stops the started components in reverse order and joins their errors.
func (g *Group) Stop(ctx context.Context) error {
	var errs []error
	for ; g.started > 0; g.started-- {
		p := g.parts[g.started-1]
		if err := stopOne(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

func stopOne(ctx context.Context, p Named) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return p.Stop(ctx)
}

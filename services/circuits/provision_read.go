package circuits

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// shown is what routers show of a circuit.
type shown int

const (
	// unproven: some router of its path does not answer, or does not show all that it should.
	unproven shown = iota
	// proven: they show all that they should hold, and the circuit is of it.
	proven
	// missing: nothing that is in force on the router where it begins is of the circuit.
	missing
	// unsure: nobody knows what some router should hold.
	unsure
)

// known tells whether the topology knows every router of its path.
func (c *carried) known() bool { return len(c.routers) > 0 && !slices.Contains(c.routers, "") }

// shown reads the routers of a circuit's path.
func (p *provisioner) shown(ctx context.Context, c *carried) (shown, error) {
	if !c.known() {
		return unproven, nil
	}
	r, err := p.changes.InForce(ctx, connect.NewRequest(&pushv1.InForceRequest{Routers: c.routers, Read: true}))
	if err != nil {
		return unproven, fmt.Errorf("read the routers of circuit %s: %w", c.ID, err)
	}
	out := proven
	for _, router := range r.Msg.GetRouters() {
		switch {
		case router.GetUnsure():
			return unsure, nil
		case router.GetRouter() == c.ingress && !slices.Contains(router.GetCircuits(), c.ID):
			return missing, nil
		case !router.GetProven():
			out = unproven
		}
	}
	return out, nil
}

// prove reads routers for circuits whose path is back. A plan that was made while it was gone is without them: then
// they ask for another one.
func (p *provisioner) prove(ctx context.Context, all []*carried) (err error) {
	if p.deps.Now().Sub(p.read) < readEvery {
		return nil
	}
	for _, c := range all {
		if c.Life.State != life.Interrupted || c.Life.Gone || c.waits {
			continue
		}
		p.read = p.deps.Now()
		got, read := p.shown(ctx, c)
		err = errors.Join(err, read)
		switch {
		case read != nil:
		case got == missing:
			c.Missing, c.Change = true, ""
		case got == proven:
			_, told := p.tell(ctx, c.ID, life.Event{Kind: life.Proven, Look: c.Life.Looks})
			err = errors.Join(err, told)
		}
	}
	return err
}

// sweep compares circuits with what change sets left on routers: somebody may have rolled one back by hand.
func (p *provisioner) sweep(ctx context.Context) error {
	if p.deps.Now().Sub(p.swept) < sweepEvery {
		return nil
	}
	var all []*carried
	err := p.ledger.Look("", func(records func(func(*circuitsv1.Record) bool)) {
		for r := range records {
			if s := ledger.LifeOf(r).State; s == life.Active || s == life.Released {
				all = append(all, p.book.carried(r, 0))
			}
		}
	})
	if err != nil || len(all) == 0 {
		return err
	}
	r, err := p.changes.InForce(ctx, connect.NewRequest(&pushv1.InForceRequest{}))
	if err != nil {
		return fmt.Errorf("ask what is in force on routers: %w", err)
	}
	p.swept = p.deps.Now()
	has := map[string]bool{}
	known := map[string]bool{}
	for _, router := range r.Msg.GetRouters() {
		known[router.GetRouter()] = !router.GetUnsure()
		for _, id := range router.GetCircuits() {
			has[id] = true
		}
	}
	for _, c := range all {
		switch {
		case c.Life.State == life.Active && !has[c.ID] && known[c.ingress]:
			err = errors.Join(err, p.gone(ctx, c))
		case c.Life.State == life.Released && has[c.ID]:
			_, told := p.tell(ctx, c.ID, life.Event{Kind: life.ChangeUndone, Attempt: c.Life.Attempt, Text: "routers have it again"})
			err = errors.Join(err, told)
		}
	}
	return err
}

// gone is an active circuit that no change set in force has any more: its own was rolled back, or another one was
// planned while its path was gone.
func (p *provisioner) gone(ctx context.Context, c *carried) error {
	if now, err := p.ledger.Get(c.ID); err != nil || now != c.record {
		return err // it moved on since it was compared
	}
	r, err := p.changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{IdempotencyKey: c.Change}))
	if err != nil {
		return fmt.Errorf("ask for the change set of circuit %s: %w", c.ID, err)
	}
	e := life.Event{Kind: life.PathLost, Text: "no change set in force has it any more"}
	switch r.Msg.GetChange().GetState() {
	case pushv1.State_STATE_ROLLED_BACK:
		e = life.Event{Kind: life.ChangeUndone, Attempt: c.Life.Attempt, Text: "change set " + r.Msg.GetChange().GetId() + " was rolled back"}
	case pushv1.State_STATE_FAILED:
		e = life.Event{Kind: life.ChangeFailed, Attempt: c.Life.Attempt, Text: "change set " + r.Msg.GetChange().GetId() + " was being rolled back"}
	case pushv1.State_STATE_ROLLING_BACK:
		return nil
	}
	_, err = p.tell(ctx, c.ID, e)
	return err
}

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
	// proven: they show their whole intended config, and the circuit is of it.
	proven
	// missing: nothing that is in force on the router where it begins, or between ports ends, is of the circuit.
	missing
	// unsure: the intended configuration of some router is unknown.
	unsure
)

// known reports whether the topology knows every router of its path.
func (c *carried) known() bool { return len(c.routers) > 0 && !slices.Contains(c.routers, "") }

// shown reads the routers of a circuit's path.
func (p *provisioner) shown(ctx context.Context, c *carried) (shown, error) {
	if !c.known() {
		return unproven, nil
	}
	list, err := p.inForce(ctx, &pushv1.InForceRequest{Routers: c.routers, Read: true})
	if err != nil {
		return unproven, fmt.Errorf("read the routers of circuit %s: %w", c.ID, err)
	}
	out := proven
	for _, router := range list {
		switch {
		case router.GetUnsure():
			return unsure, nil
		case slices.Contains(c.ends, router.GetRouter()) && !slices.Contains(router.GetCircuits(), c.ID):
			return missing, nil
		case !router.GetProven():
			out = unproven
		}
	}
	return out, nil
}

func (p *provisioner) inForce(ctx context.Context, ask *pushv1.InForceRequest) ([]*pushv1.RouterInForce, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	r, err := p.changes.InForce(ctx, connect.NewRequest(ask))
	if err != nil {
		return nil, err
	}
	return r.Msg.GetRouters(), nil
}

// prove reads routers for circuits whose path is back. A plan that was made while it was gone is without them.
func (p *provisioner) prove(ctx context.Context, all []*carried) (err error) {
	if p.deps.Now().Sub(p.read) < readEvery {
		return nil
	}
	for _, c := range all {
		if c.Life.State != life.Interrupted || c.Life.Gone || c.Life.Open {
			continue
		}
		p.read = p.deps.Now()
		got, read := p.shown(ctx, c)
		err = errors.Join(err, read)
		if kind := map[shown]life.Kind{proven: life.Proven, missing: life.Missing}[got]; read == nil && kind != "" {
			_, told := p.tell(ctx, c.ID, life.Event{Kind: kind, Look: c.Life.Looks})
			err = errors.Join(err, told)
		}
	}
	return err
}

// sweep compares circuits with what change sets left on routers: an operator may have rolled one back by hand.
func (p *provisioner) sweep(ctx context.Context) error {
	if p.deps.Now().Sub(p.swept) < sweepEvery {
		return nil
	}
	var active []*carried
	var over []*circuitsv1.Record // of 90 days, so as little as possible is made of them
	err := p.ledger.Look("", func(records func(func(*circuitsv1.Record) bool)) {
		for r := range records {
			switch r.GetCircuit().GetState() {
			case circuitsv1.State_STATE_ACTIVE:
				active = append(active, p.book.carried(r, 0))
			case circuitsv1.State_STATE_RELEASED:
				over = append(over, r)
			case circuitsv1.State_STATE_COMMITTED, circuitsv1.State_STATE_SCHEDULED:
				if ledger.LifeOf(r).Work == life.Removes {
					over = append(over, r)
				}
			}
		}
	})
	if err != nil || len(active)+len(over) == 0 {
		return err
	}
	routers, err := p.inForce(ctx, &pushv1.InForceRequest{})
	if err != nil {
		return fmt.Errorf("ask what is in force on routers: %w", err)
	}
	p.swept = p.deps.Now()
	has, known := map[string]bool{}, map[string]bool{}
	for _, router := range routers {
		known[router.GetRouter()] = !router.GetUnsure()
		for _, id := range router.GetCircuits() {
			has[id] = true
		}
	}
	for _, c := range active {
		if known[c.ingress] && (!has[c.ID] || c.Life.Renewed) {
			err = errors.Join(err, p.gone(ctx, c, has[c.ID]))
		}
	}
	for _, r := range over {
		if id := r.GetCircuit().GetId(); has[id] {
			_, told := p.tell(ctx, id, life.Event{Kind: life.ChangeUndone, Attempt: ledger.LifeOf(r).Attempt, Text: "routers have it again"})
			err = errors.Join(err, told)
		}
	}
	return err
}

// gone is an active circuit that no change set in force has any more: its own was rolled back, or another one was
// planned while its path was gone. One that routers had before may have had its change set rolled back, and still be
// there as it was before that.
func (p *provisioner) gone(ctx context.Context, c *carried, has bool) error {
	if now, err := p.ledger.Get(c.ID); err != nil || now != c.record || c.Life.Open {
		return err // it moved on since it was compared, or is followed
	}
	cs, err := p.changeNamed(ctx, c.Change)
	if err != nil && connect.CodeOf(err) != connect.CodeNotFound { // one that is not kept any more says nothing
		return fmt.Errorf("read the change set of circuit %s: %w", c.ID, err)
	}
	e := life.Event{Kind: life.PathLost, Text: "no change set in force has it any more"}
	switch cs.GetState() {
	case pushv1.State_STATE_ROLLED_BACK:
		e = life.Event{Kind: life.ChangeUndone, Attempt: c.Life.Attempt, Text: "change set " + cs.GetId() + " was rolled back"}
	case pushv1.State_STATE_FAILED:
		e = life.Event{Kind: life.ChangeFailed, Attempt: c.Life.Attempt, Text: "change set " + cs.GetId() + " was being rolled back"}
	case pushv1.State_STATE_ROLLING_BACK:
		return nil
	}
	if known := c.Life.Attempt != c.Life.Verified; known && e.Kind != life.PathLost {
		e = life.Event{Kind: life.PathLost, Text: e.Text}
	}
	if has && e.Kind == life.PathLost {
		return nil
	}
	_, err = p.tell(ctx, c.ID, e)
	return err
}

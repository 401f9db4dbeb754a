package circuits

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/lifecycle"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
)

// guarantee is what the policy that puts circuits on routers keeps for them of each port.
type guarantee struct {
	thousandths int64
	// why there is none: nothing is booked meanwhile.
	why error
}

// whole is the guarantee where circuits are not put on routers: nothing but the configuration limits them.
const whole = 1000

// errNoGuarantee is why nothing is booked before the policy was read: it may keep less than the configuration says.
var errNoGuarantee = errors.New("what the policy of circuits.provision.policy guarantees is not known yet; see whether services/policy runs, and ask again in some seconds")

// atFirst is the guarantee before any was read.
func atFirst(cfg Configuration) guarantee {
	if cfg.Provision.Policy != "" {
		return guarantee{why: errNoGuarantee}
	}
	return guarantee{thousandths: whole}
}

// guaranteeOf is what a policy's answer means for circuits.
func guaranteeOf(policy string, r *policyv1.GuaranteesResponse) guarantee {
	if r.GetCircuits() == "" {
		return guarantee{why: fmt.Errorf("policy %s has no queue for circuits, so no router gets one: add a rule with pairs: circuits under redirect:, or name another policy in circuits.provision.policy", policy)}
	}
	for _, g := range r.GetGuarantees() {
		if g.GetQueue() == r.GetCircuits() && g.GetLeast() > 0 {
			return guarantee{thousandths: 10 * int64(g.GetLeast())}
		}
	}
	return guarantee{why: fmt.Errorf("queue %s of policy %s guarantees circuits nothing: give it a weight, or name another policy in circuits.provision.policy", r.GetCircuits(), policy)}
}

// caps are how many thousandths of a link circuits may use, up to each cap.
type caps struct{ soft, hard int64 }

// capsOf are those of the configuration, and no more than is guaranteed: what is above it would be granted, and then
// refused by the policy when it is put on routers. While nothing is guaranteed nothing is booked; then what was booked
// before is measured by the configuration.
func capsOf(cfg Configuration, g guarantee) caps {
	c := caps{soft: cfg.Share, hard: cmp.Or(cfg.HardShare, cfg.Share)}
	if g.why != nil {
		return c
	}
	return caps{soft: min(c.soft, g.thousandths), hard: min(c.hard, g.thousandths)}
}

// cutOf is how many thousandths of a link the configuration lets circuits use beyond what is guaranteed.
func cutOf(cfg Configuration, g guarantee) int64 {
	return capsOf(cfg, guarantee{thousandths: whole}).hard - capsOf(cfg, g).hard
}

// setGuarantee makes the book anew where the policy guarantees something else than before.
func (b *book) setGuarantee(g guarantee, all func(yield func(*circuitsv1.Record) bool)) error {
	was := b.guarantee
	b.guarantee = g
	if b.admit == nil || capsOf(b.cfg, was) == b.caps() {
		return nil // the next topology is read with it
	}
	if err := b.rebuild(b.topo, all); err != nil {
		b.guarantee = was
		return err
	}
	return nil
}

// followPolicy reads what the policy guarantees until Stop. While services/policy does not answer, what it answered
// last holds.
func (c *Component) followPolicy(ctx context.Context) {
	for last, logged := atFirst(c.cfg), ""; ctx.Err() == nil; {
		is, err := c.readGuarantee(ctx)
		switch {
		case err == nil:
			c.logGuarantee(ctx, last, is)
			last, logged = is, ""
		case ctx.Err() == nil && !errors.Is(err, ledger.ErrNotRead) && err.Error() != logged:
			logged = err.Error()
			c.deps.Log.WarnContext(ctx, "what the policy guarantees circuits is not read", "error", err)
		}
		wait := c.cfg.Topology
		if last.why != nil {
			wait = min(wait, tick) // nothing is booked until then
		}
		lifecycle.Pause(ctx, wait)
	}
}

func (c *Component) readGuarantee(ctx context.Context) (is guarantee, err error) {
	limited, cancel := context.WithTimeout(ctx, c.cfg.TopologyAge)
	defer cancel()
	policy := c.cfg.Provision.Policy
	r, err := c.deps.Policy.Guarantees(limited, connect.NewRequest(&policyv1.GuaranteesRequest{Policy: policy}))
	switch {
	case connect.CodeOf(err) == connect.CodeNotFound:
		is.why = fmt.Errorf("circuits.provision.policy: %w", err)
	case err != nil:
		return is, fmt.Errorf("read policy %s: %w", policy, err)
	default:
		is = guaranteeOf(policy, r.Msg)
	}
	looked := c.ledger.Look("", func(all func(func(*circuitsv1.Record) bool)) { err = c.book.setGuarantee(is, all) })
	return is, errors.Join(looked, err)
}

// logGuarantee says what an operator has to know: that nothing is booked, or less than the configuration says.
func (c *Component) logGuarantee(ctx context.Context, was, is guarantee) {
	policy := c.cfg.Provision.Policy
	switch {
	case is.why != nil && (was.why == nil || was.why.Error() != is.why.Error()):
		c.deps.Log.ErrorContext(ctx, "no circuit is booked", "error", is.why)
	case is.why == nil && is.thousandths != was.thousandths && cutOf(c.cfg, is) > 0:
		c.deps.Log.WarnContext(ctx, "circuits may use less than circuits.share or circuits.hard_share says, because the policy's queue guarantees less",
			"policy", policy, "guaranteed", is.thousandths, "share", c.cfg.Share, "hard_share", c.cfg.HardShare)
	}
}

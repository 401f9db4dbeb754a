package circuits

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/lab"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// The link that is cut, at its router and port, and how long after the phase's start.
const (
	cutRouter, cutPort = "B", "ge-c"
	cutAfter           = 5 * time.Second
)

// cut runs the phase in which a link of the circuit's path is cut.
func (r *run) cut(ctx context.Context) error {
	r.Say("phase cut: link %s of router %s is cut %s after its start", cutPort, cutRouter, cutAfter)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	moved := make(chan error, 1)
	_, err := r.Phase(ctx, "cut", lab.Observer{
		Started: func(at time.Time) { go func() { moved <- r.cutAndFollow(ctx, at.Add(cutAfter)) }() },
	})
	if err != nil {
		return err
	}
	return <-moved
}

// cutAndFollow cuts the link and waits until the circuit is active on another path, as its record says.
func (r *run) cutAndFollow(ctx context.Context, at time.Time) error {
	first := r.circuit.GetPath()
	if err := waitUntil(ctx, at); err != nil {
		return err
	}
	if _, err := r.Lab.Capture(ctx, cutRouter, "ip", "link", "set", cutPort, "down"); err != nil {
		return fmt.Errorf("cut the link: %w", err)
	}
	r.lost = time.Now()
	m := r.Result.Metrics
	err := r.awaitCircuit(ctx, "the circuit is active on another path", func(c *circuitsv1.Circuit) bool {
		return c.GetState() == circuitsv1.State_STATE_ACTIVE && !slices.EqualFunc(c.GetPath(), first, sameLink)
	})
	if err != nil {
		return err
	}
	m["external/cut/moved"] = one(!slices.ContainsFunc(r.circuit.GetPath(), func(h *circuitsv1.Hop) bool {
		return slices.ContainsFunc(first, func(was *circuitsv1.Hop) bool { return sameLink(h, was) })
	}))
	for _, h := range r.circuit.GetHistory() {
		after := h.GetTime().AsTime().Sub(r.lost)
		if after < -time.Second {
			continue
		}
		r.Say("  %.1f s after the cut it is %s: %s", after.Seconds(), h.GetState(), h.GetNote())
		switch h.GetState() {
		case circuitsv1.State_STATE_INTERRUPTED:
			m["external/cut/interrupted_after_s"] = after.Seconds()
		case circuitsv1.State_STATE_ACTIVE:
			m["external/cut/active_after_s"] = after.Seconds()
			m["external/cut/rerouted_s"] = after.Seconds() - m["external/cut/interrupted_after_s"]
		}
	}
	return nil
}

func sameLink(a, b *circuitsv1.Hop) bool { return a.GetLink() == b.GetLink() }

// mend brings the link back, and waits until the control plane knows it: what the circuit's end gives to routers is
// for all ports.
func (r *run) mend(ctx context.Context) error {
	r.Say("link %s of router %s is mended", cutPort, cutRouter)
	if _, err := r.Lab.Capture(ctx, cutRouter, "ip", "link", "set", cutPort, "up"); err != nil {
		return fmt.Errorf("mend the link: %w", err)
	}
	return r.awaitTopology(ctx)
}

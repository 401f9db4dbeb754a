// Package apply makes a plan true on this router, whole or not at all, and
// keeps the running configuration.
//
// In: edits of the configuration tree, commit-confirm requests. Out: kernel and
// FRR in the new state, or in the old one with an error; a journal on disk.
// Next: services/routeragent/gnmi, which answers the client.
package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/millrace/millrace/services/routeragent/frr"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
)

// LSPs makes and removes label-switched paths; frr.Router is the real one.
type LSPs interface {
	Ensure(ctx context.Context, tunnels []intent.Tunnel) (map[string][]uint32, error)
	Prune(ctx context.Context, tunnels []intent.Tunnel, labels map[string][]uint32) error
	// Renew makes the route into an LSP be resolved again.
	Renew(ctx context.Context, t intent.Tunnel) error
}

// ErrNoLSPs refuses tunnels on a router that cannot make them.
var ErrNoLSPs = errors.New("this router has no FRR (frr_instance is none): tunnels are not possible")

// Engine brings kernel and FRR to a plan. Doing and undoing are one thing: to
// undo is to converge to the plan before.
type Engine struct {
	Kernel *kernel.Kernel
	// LSPs is nil on a router without FRR.
	LSPs LSPs
	// Features are what the kernel was found to do.
	Features kernel.Features
	Log      *slog.Logger

	// noLSPs is true once FRR was seen without any LSP of ours and none was asked for since: no need to look again.
	noLSPs bool
	// labels are the stacks of the LSPs as they were last resolved.
	labels map[string][]uint32
}

// routeWait bounds the time between FRR taking an LSP and the kernel having its
// route; after renewAfter the route is made again.
const (
	routeWait  = 5 * time.Second
	renewAfter = time.Second
)

// Converge changes what differs, make before break: LSPs, rules and schedulers
// first, then the classifier that steers packets into them, then removal of
// what nobody uses any more.
func (e *Engine) Converge(ctx context.Context, p intent.Plan) error {
	if err := e.Features.Require(p.Kernel); err != nil {
		return err
	}
	labels, err := e.ensureLSPs(ctx, p.MPLS())
	if err != nil {
		return err
	}
	if err := e.Kernel.Ensure(p.Kernel); err != nil {
		return err
	}
	if err := e.Kernel.Switch(p.Kernel); err != nil {
		return err
	}
	if err := e.Kernel.Prune(p.Kernel); err != nil {
		return err
	}
	if err := e.pruneLSPs(ctx, p.MPLS(), labels); err != nil {
		return err
	}
	return e.Kernel.Verify(p.Kernel)
}

// Check asks the kernel, which is cheap, whether it holds a plan.
func (e *Engine) Check(p intent.Plan) error {
	if err := e.Kernel.Verify(p.Kernel); err != nil {
		return err
	}
	for _, t := range p.MPLS() {
		if why, err := e.follows(t, e.labels[t.Name]); err != nil || why != "" {
			return errors.Join(err, fmt.Errorf("tunnel %s: %s", t.Name, why))
		}
	}
	return nil
}

func (e *Engine) pruneLSPs(ctx context.Context, tunnels []intent.Tunnel, labels map[string][]uint32) error {
	if e.LSPs == nil || (e.noLSPs && len(tunnels) == 0) {
		return nil
	}
	err := e.LSPs.Prune(ctx, tunnels, labels)
	if errors.Is(err, frr.ErrUnavailable) && len(tunnels) == 0 {
		return nil // a router whose FRR is down holds no LSP
	}
	e.noLSPs = err == nil && len(tunnels) == 0
	return err
}

func (e *Engine) ensureLSPs(ctx context.Context, tunnels []intent.Tunnel) (map[string][]uint32, error) {
	if len(tunnels) == 0 {
		return nil, nil
	}
	if e.LSPs == nil {
		return nil, ErrNoLSPs
	}
	e.noLSPs = false
	labels, err := e.LSPs.Ensure(ctx, tunnels)
	if err != nil {
		return nil, err
	}
	e.labels = labels
	for _, t := range tunnels {
		if err := e.waitRoute(ctx, t, labels[t.Name]); err != nil {
			return nil, err
		}
	}
	return labels, nil
}

// waitRoute asks the kernel, not FRR, whether the LSP's table leads into the LSP.
func (e *Engine) waitRoute(ctx context.Context, t intent.Tunnel, labels []uint32) error {
	deadline, renew := time.Now().Add(routeWait), time.Now().Add(renewAfter)
	for {
		why, err := e.follows(t, labels)
		if err != nil || why == "" {
			return err
		}
		if now := time.Now(); !renew.IsZero() && now.After(renew) {
			if err := e.LSPs.Renew(ctx, t); err != nil {
				return err
			}
			renew = time.Time{}
		} else if now.After(deadline) {
			return fmt.Errorf("tunnel %s: FRR took it, but in the kernel %s; is MPLS enabled on the interfaces?", t.Name, why)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// follows is empty if packets of the LSP's table leave as its label stack says:
// over the next hops of the top label, as this router's own label table has
// them, with the labels below it unchanged. Otherwise it says what differs. An
// LSP without labels is made by something else than MPLS; having a route is all
// there is to ask.
func (e *Engine) follows(t intent.Tunnel, labels []uint32) (string, error) {
	have, err := e.Kernel.Path(t.ID)
	if err != nil {
		return "", err
	}
	if len(have) == 0 {
		return fmt.Sprintf("table %d has no route", kernel.TableBase+t.ID), nil
	}
	if len(labels) == 0 {
		return "", nil
	}
	want, err := e.Kernel.Label(int(labels[0]))
	if err != nil {
		return "", err
	}
	if len(want) == 0 {
		return fmt.Sprintf("label %d leads nowhere", labels[0]), nil
	}
	for i := range want {
		want[i].Labels = slices.Clone(want[i].Labels)
		for _, l := range labels[1:] {
			want[i].Labels = append(want[i].Labels, int(l))
		}
	}
	if h, w := fmt.Sprint(have), fmt.Sprint(want); h != w {
		return fmt.Sprintf("the route of table %d is %s, not %s", kernel.TableBase+t.ID, h, w), nil
	}
	return "", nil
}

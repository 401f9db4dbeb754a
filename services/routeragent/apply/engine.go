// Package apply brings this router to a plan, and keeps the running configuration. An edit is applied whole or not at
// all; a rollback, a start or a repair as far as the router can, and what it lacks is drift.
//
// In: edits of the configuration tree, commit-confirm requests. Out: kernel and
// FRR in the new state, or in the old one with an error; drift; a journal on disk.
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
	// Verify reads, and reports an LSP that FRR does not have as it was ensured. It changes nothing.
	Verify(ctx context.Context, tunnels []intent.Tunnel, labels map[string][]uint32) error
	// Renew makes FRR resolve the route into an LSP again.
	Renew(ctx context.Context, t intent.Tunnel) error
}

// ErrNoLSPs refuses tunnels on a router that cannot make them.
var ErrNoLSPs = errors.New("this router has no FRR (frr_instance is none): tunnels are not possible")

// Engine brings kernel and FRR to a plan. To roll back is to converge to the
// previous plan: there is no other undo.
type Engine struct {
	Kernel *kernel.Kernel
	// LSPs is nil on a router without FRR.
	LSPs LSPs
	// Features are those that were probed at the start.
	Features kernel.Features
	Log      *slog.Logger

	// noLSPs is true once FRR was seen without any LSP of ours and no
	// plan has had one since: FRR need not be read again.
	noLSPs bool
	// labels are the label stacks of the LSPs, as last resolved.
	labels map[string][]uint32
	// made are the LSPs in FRR after the last Converge, or Change that made them; nil if it failed.
	made *[]intent.Tunnel
}

// routeWait bounds the time from an LSP's configuration in FRR to its route in the
// kernel; after renewAfter the route is renewed.
const (
	routeWait  = 5 * time.Second
	renewAfter = time.Second
)

// Converge brings the router as near to a plan as it can, after a rollback or a start, or to repair it. What cannot
// be made, such as an LSP without a path, keeps nothing else from it: a policer may be what cuts the LSP off.
// Packets of an LSP that is not there take the IGP's path. The error names all that the router lacks.
func (e *Engine) Converge(ctx context.Context, p intent.Plan) error {
	e.made = nil
	if err := e.Features.Require(p.Kernel); err != nil {
		return err
	}
	tunnels := p.MPLS()
	labels, unmade := e.ensureLSPs(ctx, tunnels)
	lacks := []error{unmade, e.Kernel.Ensure(p.Kernel)}
	unsteered := e.Kernel.Switch(p.Kernel)
	if unsteered == nil { // else packets may still be in what would be removed
		unsteered = e.Kernel.Prune(p.Kernel)
	}
	lacks = append(lacks, unsteered)
	if unmade == nil && unsteered == nil {
		lacks = append(lacks, e.pruneLSPs(ctx, tunnels, labels))
	}
	err := errors.Join(lacks...)
	if err == nil {
		e.made = &tunnels
		err = e.Kernel.Verify(p.Kernel)
	}
	return errors.Join(err, p.Lacks())
}

// Change brings the router to a plan after an edit of the configuration, make before break: it adds LSPs, rules and
// schedulers, switches the classifier that steers packets into them, and then removes what is no longer used. It
// ends with the first error, after which the former plan is to be converged to. If the LSPs are those that were
// made last, and the kernel still follows them, FRR is not asked: that takes a slow router half a second. Labels
// that changed meanwhile are found by the Converge that follows each change of links.
func (e *Engine) Change(ctx context.Context, p intent.Plan) error {
	if err := e.Features.Require(p.Kernel); err != nil {
		return err
	}
	tunnels := p.MPLS()
	if e.lspsStay(tunnels) {
		if err := e.steer(p); err != nil {
			return err
		}
		return e.Kernel.Verify(p.Kernel)
	}
	e.made = nil
	labels, err := e.ensureLSPs(ctx, tunnels)
	if err != nil {
		return err
	}
	if err := e.steer(p); err != nil {
		return err
	}
	if err := e.pruneLSPs(ctx, tunnels, labels); err != nil {
		return err
	}
	e.made = &tunnels
	return e.Kernel.Verify(p.Kernel)
}

func (e *Engine) lspsStay(tunnels []intent.Tunnel) bool {
	return e.made != nil && slices.EqualFunc(*e.made, tunnels, intent.Tunnel.Equal) && e.lost(tunnels) == nil
}

// steer brings the kernel to the plan.
func (e *Engine) steer(p intent.Plan) error {
	if err := e.Kernel.Ensure(p.Kernel); err != nil {
		return err
	}
	if err := e.Kernel.Switch(p.Kernel); err != nil {
		return err
	}
	return e.Kernel.Prune(p.Kernel)
}

// Check compares the kernel and FRR with a plan. It changes nothing. FRR is asked because its kernel routes outlive
// an LSP that was lost with the daemon that kept it: they would stay as they are when paths change.
func (e *Engine) Check(ctx context.Context, p intent.Plan) error {
	if err := e.Kernel.Verify(p.Kernel); err != nil {
		return err
	}
	tunnels := p.MPLS()
	if err := e.lost(tunnels); err != nil || len(tunnels) == 0 || e.LSPs == nil {
		return err
	}
	return e.LSPs.Verify(ctx, tunnels, e.labels)
}

// lost finds LSPs that packets do not follow in the kernel.
func (e *Engine) lost(tunnels []intent.Tunnel) error {
	strays, err := e.strays(tunnels, e.labels)
	if err != nil || len(strays) == 0 {
		return err
	}
	return fmt.Errorf("tunnel %s: %s", strays[0].Name, strays[0].why)
}

func (e *Engine) pruneLSPs(ctx context.Context, tunnels []intent.Tunnel, labels map[string][]uint32) error {
	if e.LSPs == nil || (e.noLSPs && len(tunnels) == 0) {
		return nil
	}
	err := e.LSPs.Prune(ctx, tunnels, labels)
	if errors.Is(err, frr.ErrUnavailable) && len(tunnels) == 0 {
		return nil // without FRR there is no LSP
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
	strays, err := e.strays(tunnels, labels)
	if err != nil {
		return nil, err
	}
	for _, t := range strays {
		if err := e.waitRoute(ctx, t.Tunnel, labels); err != nil {
			return nil, err
		}
	}
	return labels, nil
}

// waitRoute waits until the LSP's table in the kernel leads into the LSP. What FRR reports is not enough.
func (e *Engine) waitRoute(ctx context.Context, t intent.Tunnel, labels map[string][]uint32) error {
	deadline, renew := time.Now().Add(routeWait), time.Now().Add(renewAfter)
	for {
		strays, err := e.strays([]intent.Tunnel{t}, labels)
		if err != nil || len(strays) == 0 {
			return err
		}
		if now := time.Now(); !renew.IsZero() && now.After(renew) {
			if err := e.LSPs.Renew(ctx, t); err != nil {
				return err
			}
			renew = time.Time{}
		} else if now.After(deadline) {
			return fmt.Errorf("tunnel %s: FRR took it, but in the kernel %s; is MPLS enabled on the interfaces?", t.Name, strays[0].why)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stray is an LSP that packets do not follow in the kernel.
type stray struct {
	intent.Tunnel
	why string
}

// strays compares LSPs with the kernel's routes, which are read once for all of them: the kernel lists its whole FIB.
func (e *Engine) strays(tunnels []intent.Tunnel, labels map[string][]uint32) ([]stray, error) {
	if len(tunnels) == 0 {
		return nil, nil
	}
	var top []int
	for _, t := range tunnels {
		if stack := labels[t.Name]; len(stack) > 0 {
			top = append(top, int(stack[0]))
		}
	}
	paths, err := e.Kernel.Paths()
	if err != nil {
		return nil, err
	}
	segments, err := e.Kernel.Labels(top)
	if err != nil {
		return nil, err
	}
	var out []stray
	for _, t := range tunnels {
		if why := differs(t, labels[t.Name], paths[t.ID], segments); why != "" {
			out = append(out, stray{t, why})
		}
	}
	return out, nil
}

// differs compares the route of an LSP's table with its label stack, and returns the difference
// or nothing: packets must leave over the next hops that this router's own label
// table has for the top label, with the labels below it unchanged. An LSP without
// labels is not made by MPLS; it needs a route and no more.
func differs(t intent.Tunnel, labels []uint32, have []kernel.NextHop, segments map[int][]kernel.NextHop) string {
	if len(have) == 0 {
		return fmt.Sprintf("table %d has no route", kernel.TableBase+t.ID)
	}
	if len(labels) == 0 {
		return ""
	}
	want := slices.Clone(segments[int(labels[0])])
	if len(want) == 0 {
		return fmt.Sprintf("label %d leads nowhere", labels[0])
	}
	for i := range want {
		want[i].Labels = slices.Clone(want[i].Labels)
		for _, l := range labels[1:] {
			want[i].Labels = append(want[i].Labels, int(l))
		}
	}
	if h, w := fmt.Sprint(have), fmt.Sprint(want); h != w {
		return fmt.Sprintf("the route of table %d is %s, not %s", kernel.TableBase+t.ID, h, w)
	}
	return ""
}

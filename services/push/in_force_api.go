package push

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/device"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/drift"
)

// InForce implements ChangeService.
func (a *api) InForce(ctx context.Context, req *connect.Request[pushv1.InForceRequest]) (*connect.Response[pushv1.InForceResponse], error) {
	devices, err := a.c.named(req.Msg.GetRouters())
	if err != nil {
		return nil, coded(err)
	}
	all, err := a.c.list(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*pushv1.RouterInForce, len(devices))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelRouters)
	for i, d := range devices {
		g.Go(func() (err error) {
			out[i], err = a.c.inForceNow(ctx, all, d, req.Msg.GetRead())
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return connect.NewResponse(&pushv1.InForceResponse{Routers: out}), nil
}

// named are devices of the inventory; all where no names are given.
func (c *Component) named(names []string) (out []device.Device, err error) {
	if len(names) == 0 {
		return c.deps.Inventory.Devices, nil
	}
	for _, name := range names {
		d, known := c.deps.Inventory.ByName(name)
		if !known {
			return nil, fmt.Errorf("there is no router %q: %w", name, errNoRouter)
		}
		out = append(out, d)
	}
	return out, nil
}

// inForceNow returns a router's intended entries, and reads whether the router has them.
func (c *Component) inForceNow(ctx context.Context, all []*pushv1.ChangeSet, d device.Device, read bool) (*pushv1.RouterInForce, error) {
	force, err := c.inForceOn(ctx, all, d.Name)
	if err != nil {
		return nil, err
	}
	out := &pushv1.RouterInForce{Router: d.Name, Unsure: force.known == drift.Unsure, Change: force.change.GetId(), Circuits: circuitsIn(force.entries)}
	switch {
	case out.GetUnsure():
		out.Reason = notEnded
	case read:
		out.Reason = c.unproven(ctx, d, force.entries)
		out.Proven = out.GetReason() == ""
	}
	return out, nil
}

// unproven returns the entries that a router lacks, in its configuration or in its state; empty for none.
// Each of the two reads may take CallTimeout.
func (c *Component) unproven(ctx context.Context, d device.Device, entries map[string]string) string {
	vendor, err := c.deps.Vendors.Of(d)
	if err != nil {
		return err.Error()
	}
	running, err := c.managed(ctx, d, entries)
	if err != nil {
		return "it could not be read: " + oneLine(err)
	}
	if changes := diff.Of(vendor.Encoding, running, entries); len(changes) > 0 {
		return fmt.Sprintf("its running config differs at %s", judgement{changes: changes}.paths())
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout+allowanceOf(entries, c.cfg.CommitRate))
	defer cancel()
	r, err := c.deps.Vendors.Open(ctx, d)
	if err != nil {
		return "it could not be read: " + oneLine(err)
	}
	defer r.Close()
	checks, err := r.Verify(ctx, entries)
	if err != nil {
		return "its state could not be read: " + oneLine(err)
	}
	return failed(checks)
}

// circuitName finds the ids of circuits in the names of their LSPs, see compile.CircuitLSPName.
var circuitName = regexp.MustCompile(circuitLSP + `([a-z0-9][a-z0-9-]*)-[0-9a-f]{6}\b`)

// circuitsIn are the circuits whose LSPs are in a router's configuration.
func circuitsIn(entries map[string]string) []string {
	found := map[string]bool{}
	for path, body := range entries {
		for _, text := range []string{path, body} {
			for _, m := range circuitName.FindAllStringSubmatch(text, -1) {
				found[m[1]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

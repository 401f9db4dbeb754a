package policy

import (
	"context"
	"fmt"
	"slices"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/device"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// api implements PolicyService. Codes: NOT_FOUND for a policy or
// router that is not there, FAILED_PRECONDITION for a policy with errors or
// one that does not fit the network, UNAVAILABLE before the topology is known.
type api struct{ c *Component }

func (a *api) Check(_ context.Context, req *connect.Request[policyv1.CheckRequest]) (*connect.Response[policyv1.CheckResponse], error) {
	_, problems := document.Parse(req.Msg.GetFileName(), req.Msg.GetText())
	return connect.NewResponse(&policyv1.CheckResponse{Problems: problemsToProto(problems)}), nil
}

func (a *api) Plan(ctx context.Context, req *connect.Request[policyv1.PlanRequest]) (*connect.Response[policyv1.PlanResponse], error) {
	out, err := a.plan(ctx, req.Msg)
	if err != nil {
		a.c.metrics.plans.WithLabelValues("failed").Inc()
		return nil, err
	}
	a.c.metrics.plans.WithLabelValues("compiled").Inc()
	a.c.metrics.skipped.Set(float64(len(out.GetSkipped())))
	return connect.NewResponse(out), nil
}

func (a *api) plan(ctx context.Context, req *policyv1.PlanRequest) (*policyv1.PlanResponse, error) {
	p, err := a.policy(req.GetPolicy())
	if err != nil {
		return nil, err
	}
	if _, known := a.c.deps.Inventory.ByName(req.GetRouter()); req.GetRouter() != "" && !known {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("there is no router %s in the inventory", req.GetRouter()))
	}
	in, err := a.c.gather(ctx, p)
	if err != nil {
		return nil, err
	}
	if in.Splits, err = splitsFromProto(req.GetSplits()); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	result, err := compile.Compile(in)
	if err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	out, err := a.c.deps.Renderers.Response(result, Request{Router: req.GetRouter(), Syntax: req.GetRender(), Inventory: a.c.deps.Inventory})
	if err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	if s := p.Split; s != nil {
		out.Split = splitToProto(s)
	}
	out.Absent = absent(a.c.deps.Inventory, in.Routers)
	return out, nil
}

// Circuits implements PolicyService.
func (a *api) Circuits(ctx context.Context, _ *connect.Request[policyv1.CircuitsRequest]) (*connect.Response[policyv1.CircuitsResponse], error) {
	list, err := a.c.inForce(ctx)
	if err != nil {
		return nil, err
	}
	out := &policyv1.CircuitsResponse{}
	for _, m := range list {
		out.Circuits = append(out.Circuits, m.GetId())
	}
	return connect.NewResponse(out), nil
}

// absent lists the routers of the inventory that the topology does not know.
func absent(inv *device.Inventory, known []compile.Router) (out []string) {
	for _, d := range inv.Devices {
		if !slices.ContainsFunc(known, func(r compile.Router) bool { return r.Managed && r.Name == d.Name }) {
			out = append(out, d.Name)
		}
	}
	return out
}

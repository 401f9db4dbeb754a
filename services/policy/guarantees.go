package policy

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// Guarantees implements PolicyService.
func (a *api) Guarantees(_ context.Context, req *connect.Request[policyv1.GuaranteesRequest]) (*connect.Response[policyv1.GuaranteesResponse], error) {
	p, err := a.policy(req.Msg.GetPolicy())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(guaranteesOf(*p)), nil
}

// policy is one of the library, or why there is none.
func (a *api) policy(name string) (*document.Policy, error) {
	p, err := a.c.library.get(name)
	switch {
	case errors.Is(err, errNoPolicy):
		return nil, connect.NewError(connect.CodeNotFound, err)
	case err != nil:
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return p, nil
}

// guaranteesOf are the weights that hold on every port: what a circuit's room is measured by when it is planned.
func guaranteesOf(p document.Policy) *policyv1.GuaranteesResponse {
	out := &policyv1.GuaranteesResponse{}
	for _, q := range p.Queues {
		least, _ := p.QueueAtLeast(q.Name)
		out.Guarantees = append(out.Guarantees, &policyv1.QueueGuarantee{Queue: q.Name, Least: uint32(least.Weight)})
	}
	if rule := compile.CircuitsRedirect(p); rule >= 0 {
		out.Circuits = p.Redirect[rule].Queue
	}
	return out
}

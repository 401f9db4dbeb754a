package identity

import (
	"context"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// Permissions implements IdentityService. Where nobody logs in it refuses nothing, as the ports do.
func (a *api) Permissions(ctx context.Context, _ *connect.Request[identityv1.PermissionsRequest]) (*connect.Response[identityv1.PermissionsResponse], error) {
	who, known := rights.From(ctx)
	out := &identityv1.PermissionsResponse{LoginNeeded: a.On()}
	if a.On() && known && who.Role > rights.Nobody {
		out.Name, out.Role, out.Apis, out.Limits = who.Name, who.Role, who.APIs, rights.LimitsMessage(who.Limits)
	}
	for _, c := range rights.Calls() {
		p := &identityv1.Permission{Procedure: c.Procedure, Needs: c.Needs}
		if a.On() {
			no, judged := rights.May(who, c)
			p.WithinLimits = judged
			if no != nil {
				p.Refused = no.Error()
			}
		}
		out.Calls = append(out.Calls, p)
	}
	return connect.NewResponse(out), nil
}

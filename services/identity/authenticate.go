package identity

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rpc"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// Authenticate is Who for the API gateway in another process.
func (a *api) Authenticate(ctx context.Context, r *connect.Request[identityv1.AuthenticateRequest]) (*connect.Response[identityv1.AuthenticateResponse], error) {
	if !a.On() {
		return nil, errOff
	}
	shown := http.Header{}
	for name, value := range map[string]string{"Authorization": r.Msg.GetAuthorization(), "Cookie": r.Msg.GetCookie()} {
		if value != "" {
			shown.Set(name, value)
		}
	}
	who, err := a.Who((&http.Request{Header: shown}).WithContext(ctx))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&identityv1.AuthenticateResponse{Caller: rpc.CallerMessage(who)}), nil
}

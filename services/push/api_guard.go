package push

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// errNoRouter is wrapped where a request names a router that is not there.
var errNoRouter = errors.New("see the names in the inventory")

func (a *api) Abort(ctx context.Context, req *connect.Request[pushv1.AbortRequest]) (*connect.Response[pushv1.AbortResponse], error) {
	if err := signed(req.Msg.GetBy()); err != nil {
		return nil, err
	}
	cs, err := a.complete(ctx)(a.c.abort(ctx, req.Msg))
	return connect.NewResponse(&pushv1.AbortResponse{Change: cs}), coded(err)
}

func (a *api) Freeze(ctx context.Context, req *connect.Request[pushv1.FreezeRequest]) (*connect.Response[pushv1.FreezeResponse], error) {
	if req.Msg.GetBy() == "" || req.Msg.GetReason() == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("say who freezes and why: by or reason is empty"))
	}
	f, err := a.c.freeze(ctx, req.Msg)
	return connect.NewResponse(&pushv1.FreezeResponse{Freeze: f}), coded(err)
}

func (a *api) Unfreeze(ctx context.Context, req *connect.Request[pushv1.UnfreezeRequest]) (*connect.Response[pushv1.UnfreezeResponse], error) {
	if err := signed(req.Msg.GetBy()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&pushv1.UnfreezeResponse{}), coded(a.c.unfreeze(ctx, req.Msg))
}

func (a *api) ListFreezes(ctx context.Context, _ *connect.Request[pushv1.ListFreezesRequest]) (*connect.Response[pushv1.ListFreezesResponse], error) {
	list, err := a.c.freezes(ctx)
	return connect.NewResponse(&pushv1.ListFreezesResponse{Freezes: list}), coded(err)
}

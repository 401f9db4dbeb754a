package rpc

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
)

// MaxRequest, in octets, is room for the largest request of most services.
const MaxRequest = 8 << 20

// Bounded is for every handler. It refuses larger messages with RESOURCE_EXHAUSTED, also those that only grow as they
// are decompressed: without it one request of a megabyte takes a gigabyte of a process that has a database in it, too.
// Requests that name who asks get the name of who logged in, and what changes something is recorded.
func Bounded(octets int) connect.HandlerOption {
	return connect.WithHandlerOptions(connect.WithReadMaxBytes(octets), connect.WithInterceptors(calls{}))
}

// calls is between what came in and the handlers of calls.
type calls struct{}

// WrapUnary implements connect.Interceptor.
func (calls) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		request, _ := r.Any().(proto.Message)
		if request != nil {
			rights.Sign(ctx, request)
		}
		var out connect.AnyResponse
		err := Recorded(ctx, request, func() (response proto.Message, err error) {
			if out, err = next(ctx, r); err == nil {
				response, _ = out.Any().(proto.Message)
			}
			return response, err
		})
		if err != nil {
			return nil, err
		}
		return out, nil
	}
}

// WrapStreamingHandler implements connect.Interceptor. What is in a stream is not in the record.
func (calls) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, s connect.StreamingHandlerConn) error {
		return Recorded(ctx, nil, func() (proto.Message, error) { return nil, next(ctx, s) })
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (calls) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

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
// Requests that name who asks get the name of who logged in.
func Bounded(octets int) connect.HandlerOption {
	return connect.WithHandlerOptions(connect.WithReadMaxBytes(octets), connect.WithInterceptors(connect.UnaryInterceptorFunc(signing)))
}

func signing(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		if m, ok := r.Any().(proto.Message); ok {
			rights.Sign(ctx, m)
		}
		return next(ctx, r)
	}
}

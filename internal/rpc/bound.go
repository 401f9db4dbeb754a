package rpc

import (
	"context"
	"maps"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
)

// MaxRequest, in octets, is room for the largest request of most services.
const MaxRequest = 8 << 20

// onePacket, in octets, is what fits a packet of Ethernet with room for headers. A shorter answer gains nothing by
// being compressed, and costs a compressor of 1.2 MB.
const onePacket = 1400

// Bounded is for every handler. It refuses larger messages with RESOURCE_EXHAUSTED, also those that only grow as they
// are decompressed: without it one request of a megabyte takes a gigabyte of a process that has a database in it, too.
// Messages of more than onePacket are compressed for clients that take it. Each call is Made. about is of a service
// with calls that are about a record.
func Bounded(octets int, about ...About) connect.HandlerOption {
	c := calls{}
	if len(about) > 0 {
		c.about = about[0]
	}
	return connect.WithHandlerOptions(connect.WithReadMaxBytes(octets), connect.WithCompressMinBytes(onePacket), connect.WithInterceptors(c))
}

// calls is between what came in and the handlers of calls.
type calls struct{ about About }

// WrapUnary implements connect.Interceptor.
func (c calls) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		request, _ := r.Any().(proto.Message)
		var out connect.AnyResponse
		header := http.Header{}
		err := Made(ctx, r.Spec().Procedure, request, c.about, header, func() (response proto.Message, err error) {
			if out, err = next(ctx, r); err == nil {
				response, _ = out.Any().(proto.Message)
			}
			return response, err
		})
		if err != nil {
			return nil, err
		}
		maps.Copy(out.Header(), header)
		return out, nil
	}
}

// WrapStreamingHandler implements connect.Interceptor. What is in a stream is neither in the record nor filtered; what
// comes in one is judged message by message.
func (c calls) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, s connect.StreamingHandlerConn) error {
		return Made(ctx, s.Spec().Procedure, nil, nil, s.ResponseHeader(), func() (proto.Message, error) {
			return nil, next(ctx, judged{s, ctx, c.about})
		})
	}
}

// judged is a stream of which each message that comes in has to be within the limits of its caller. Its context ends
// with other limits, after which no message is taken.
type judged struct {
	connect.StreamingHandlerConn
	ctx   context.Context
	about About
}

// Receive implements connect.StreamingHandlerConn.
func (j judged) Receive(into any) error {
	if err := j.StreamingHandlerConn.Receive(into); err != nil {
		return err
	}
	if j.ctx.Err() != nil {
		return context.Cause(j.ctx)
	}
	who, _ := rights.From(j.ctx)
	if who.Limits.None() {
		return nil
	}
	message, _ := into.(proto.Message)
	return within(j.ctx, who, rights.Of(j.Spec().Procedure), message, j.about)
}

// WrapStreamingClient implements connect.Interceptor.
func (calls) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

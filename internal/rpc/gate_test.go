package rpc

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
)

// endless sends one event, and then holds the stream open until its context ends.
type endless struct{ ended chan error }

func (e endless) Watch(ctx context.Context, _ *connect.Request[eventv1.WatchRequest], s *connect.ServerStream[eventv1.WatchResponse]) error {
	if err := s.Send(&eventv1.WatchResponse{}); err != nil {
		return err
	}
	<-ctx.Done()
	e.ended <- context.Cause(ctx)
	return context.Cause(ctx)
}

// A stream ends with its caller's login or role, and goes on while it is only unknown who the caller is.
func TestStreamsEndWithTheirLogins(t *testing.T) {
	gone := connect.NewError(connect.CodeUnauthenticated, errors.New("the login is over"))
	away := connect.NewError(connect.CodeUnavailable, errors.New("etcd is away"))
	for name, tt := range map[string]struct {
		role rights.Role
		err  error
	}{"the login is over": {rights.Viewer, gone}, "the role is gone": {rights.Nobody, nil}} {
		t.Run(name, func(t *testing.T) {
			type answer struct {
				role rights.Role
				err  error
			}
			var now atomic.Pointer[answer]
			var asked atomic.Int64
			now.Store(&answer{role: rights.Viewer})
			gate := Gate{Again: time.Millisecond, Who: func(*http.Request) (rights.Caller, error) {
				asked.Add(1)
				a := now.Load()
				return rights.Caller{Name: "ann", Role: a.role, Credential: "c"}, a.err
			}}
			e := endless{make(chan error, 1)}
			mux := http.NewServeMux()
			path, handler := eventv1connect.NewEventServiceHandler(e)
			mux.Handle(path, gate.Wrap(nil, handler))
			server := httptest.NewServer(mux)
			defer server.Close()
			stream, err := eventv1connect.NewEventServiceClient(http.DefaultClient, server.URL).Watch(t.Context(), connect.NewRequest(&eventv1.WatchRequest{}))
			if err != nil || !stream.Receive() {
				t.Fatal(err, stream.Err())
			}
			now.Store(&answer{rights.Viewer, away})
			before := asked.Load()
			await.True(t, "it was looked up while etcd was away", func() bool { return asked.Load() > before+3 })
			select {
			case err := <-e.ended:
				t.Fatalf("the stream ended although nobody knows whether the login did: %v", err)
			default:
			}
			now.Store(&answer{tt.role, tt.err})
			if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeUnauthenticated {
				t.Errorf("the client gets %v", stream.Err())
			}
			if err := await.Value(t, "the end of the stream", e.ended); err == nil || errors.Is(err, context.Canceled) {
				t.Errorf("it ends without a cause: %v", err)
			}
		})
	}
}

package rpc

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
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

// importer sends the context of its stream for each batch that comes.
type importer struct {
	flowv1connect.UnimplementedFlowCollectorServiceHandler
	got chan context.Context
}

// Import implements flowv1connect.FlowCollectorServiceHandler.
func (i importer) Import(ctx context.Context, s *connect.ClientStream[flowv1.ImportRequest]) (*connect.Response[flowv1.ImportResponse], error) {
	for s.Receive() {
		i.got <- ctx
	}
	return connect.NewResponse(&flowv1.ImportResponse{}), s.Err()
}

// A stream is not taken further once its caller's limits are others than at its beginning, or the login is over.
func TestNothingMoreIsTakenOfAStreamWhoseCallerMayLess(t *testing.T) {
	edges := rights.Limits{Grants: []rights.Grant{{Role: rights.Operator, Scope: rights.Scope{Routers: []string{"edge-1"}}}}}
	narrower := rights.Limits{Grants: edges.Grants, Scope: rights.Scope{Routers: []string{"edge-2"}}}
	for name, tt := range map[string]struct {
		before, after rights.Limits
		err           error
		want          connect.Code
	}{
		"the role is limited":        {rights.Limits{}, edges, nil, connect.CodeAborted},
		"the limits are others":      {edges, narrower, nil, connect.CodeAborted},
		"the limits are the same":    {edges, rights.Limits{Grants: slices.Clone(edges.Grants)}, nil, 0},
		"the login is over":          {edges, edges, connect.NewError(connect.CodeUnauthenticated, errors.New("over")), connect.CodeUnauthenticated},
		"etcd is away":               {rights.Limits{}, edges, connect.NewError(connect.CodeUnavailable, errors.New("away")), 0},
		"too many calls of a second": {edges, rights.Limits{}, connect.NewError(connect.CodeResourceExhausted, errors.New("rate")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			var later atomic.Bool
			var asked atomic.Int64
			gate := Gate{Again: time.Millisecond, Who: func(*http.Request) (rights.Caller, error) {
				asked.Add(1)
				who := rights.Caller{Name: "ann", Role: rights.Operator, Credential: "c", Limits: tt.before}
				if later.Load() {
					who.Limits = tt.after
					return who, tt.err
				}
				return who, nil
			}}
			about := func(context.Context, string, proto.Message) (rights.Things, error) {
				return rights.Things{Routers: []string{"edge-1"}}, nil
			}
			i := importer{got: make(chan context.Context, 2)}
			mux := http.NewServeMux()
			path, handler := flowv1connect.NewFlowCollectorServiceHandler(i, Bounded(MaxRequest, about))
			mux.Handle(path, gate.Wrap(nil, handler))
			server := httptest.NewServer(mux)
			defer server.Close()
			s := flowv1connect.NewFlowCollectorServiceClient(server.Client(), server.URL).Import(t.Context())
			if err := s.Send(&flowv1.ImportRequest{}); err != nil {
				t.Fatal(err)
			}
			ctx := await.Value(t, "the first batch", i.got)
			later.Store(true)
			before := asked.Load()
			await.True(t, "a look-up of then is over", func() bool { return asked.Load() > before+1 || ctx.Err() != nil })
			_ = s.Send(&flowv1.ImportRequest{}) // the stream may have ended
			_, err := s.CloseAndReceive()
			if (err == nil) != (tt.want == 0) || err != nil && connect.CodeOf(err) != tt.want {
				t.Errorf("the client gets %v, want %v", err, tt.want)
			}
			if taken := len(i.got) > 0; taken != (tt.want == 0) {
				t.Errorf("the second batch is taken: %v", taken)
			}
		})
	}
}

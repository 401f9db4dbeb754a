package audit

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
	"github.com/millrace/millrace/proto/gen/millrace/audit/v1/auditv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/audit/chain"
)

func TestMain(m *testing.M) { os.Exit(etcd.Main(m)) }

// world is the audit log, and a port with change sets behind a gate that writes into it.
type world struct {
	*Component
	changes *changes
	url     string
	handler http.Handler
}

// changes fails calls about a change set called none.
type changes struct {
	pushv1connect.UnimplementedChangeServiceHandler
	approved chan string
}

func (c *changes) Approve(_ context.Context, r *connect.Request[pushv1.ApproveRequest]) (*connect.Response[pushv1.ApproveResponse], error) {
	if r.Msg.GetId() == "none" {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("there is none"))
	}
	if c.approved != nil {
		c.approved <- r.Msg.GetId()
	}
	return connect.NewResponse(&pushv1.ApproveResponse{}), nil
}

func (c *changes) Create(context.Context, *connect.Request[pushv1.CreateRequest]) (*connect.Response[pushv1.CreateResponse], error) {
	return connect.NewResponse(&pushv1.CreateResponse{Change: &pushv1.ChangeSet{Id: "cs-7"}}), nil
}

func (c *changes) List(context.Context, *connect.Request[pushv1.ListRequest]) (*connect.Response[pushv1.ListResponse], error) {
	return connect.NewResponse(&pushv1.ListResponse{}), nil
}

// byHeader is who a request is from, in the place of a login.
func byHeader(r *http.Request) (rights.Caller, error) {
	who := rights.Caller{Name: r.Header.Get("Name"), Credential: "k3v7q2m5x4ab", Session: r.Header.Get("Token") == ""}
	switch role, known := rights.Named(r.Header.Get("Role")); {
	case known:
		who.Role = role
		if routers := r.Header.Get("Routers"); routers != "" {
			who.Limits.Scope = rights.Scope{Routers: []string{routers}, Policies: []string{"*"}}
		}
		return who, nil
	case r.Header.Get("Role") == "":
		return rights.Anonymous, nil
	case r.Header.Get("Role") == "away":
		return who, connect.NewError(connect.CodeUnavailable, errors.New("etcd is away"))
	}
	return who, connect.NewError(connect.CodeUnauthenticated, errors.New("no such token"))
}

func start(t testing.TB, s *state.Store, change ...func(*Configuration, *Dependencies)) *world {
	t.Helper()
	cfg, deps := DefaultConfiguration(), Dependencies{On: true, State: s, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg, &deps)
	}
	c, err := New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	c.writer.patience = await.Patience // etcd is there, however long it takes
	w := &world{Component: c, changes: &changes{}}
	c.alike.seen["before the start"] = &auditv1.Record{}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the first flush is over, so that tests make the next ones", func() bool {
		c.alike.mu.Lock()
		defer c.alike.mu.Unlock()
		return len(c.alike.seen) == 0
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	mux := http.NewServeMux()
	path, h := pushv1connect.NewChangeServiceHandler(w.changes, rpc.Bounded(rpc.MaxRequest, about))
	gate := rpc.Gate{Who: byHeader, Record: c.Recorder()}
	mux.Handle(path, gate.Wrap(nil, h))
	path, h = c.Handler()
	mux.Handle(path, gate.Wrap(nil, h))
	w.handler = mux
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// about takes the id of a change set for the router that it touches.
func about(_ context.Context, _ string, request proto.Message) (rights.Things, error) {
	return rights.Things{Routers: []string{request.(*pushv1.ApproveRequest).GetId()}}, nil
}

// caller shows headers with each request.
type caller map[string]string

func (c caller) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range c {
		r.Header.Set(k, v)
	}
	return http.DefaultTransport.RoundTrip(r)
}

var ann = caller{"Name": "ann", "Role": "approver"}

func (w *world) as(c caller) pushv1connect.ChangeServiceClient {
	return pushv1connect.NewChangeServiceClient(&http.Client{Transport: c}, w.url)
}

func (w *world) approve(c caller, id, note string) error {
	_, err := w.as(c).Approve(context.Background(), connect.NewRequest(&pushv1.ApproveRequest{Id: id, Note: note}))
	return err
}

func (w *world) list(t testing.TB, q *auditv1.ListRequest) *auditv1.ListResponse {
	t.Helper()
	w.settle(t)
	r, err := auditv1connect.NewAuditServiceClient(&http.Client{Transport: caller{"Name": "root", "Role": "admin"}}, w.url).List(t.Context(), connect.NewRequest(q))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg
}

// settle waits until everything is written, and what is too old is dropped: an attempt holds the tail until both are
// done.
func (w *world) settle(t testing.TB) {
	t.Helper()
	await.True(t, "nothing waits to be written", func() bool {
		w.writer.tail.mu.Lock()
		defer w.writer.tail.mu.Unlock()
		return len(w.writer.batch()) == 0
	})
}

// kept is all that etcd has.
func kept(t testing.TB, s *state.Store) chain.Log {
	t.Helper()
	l := chain.Log{Anchor: &auditv1.Mark{}, Head: &auditv1.Mark{}}
	for key, m := range map[string]*auditv1.Mark{anchorKey: l.Anchor, headKey: l.Head} {
		if _, err := s.Get(t.Context(), key, m); err != nil && !errors.Is(err, state.ErrNotFound) {
			t.Fatal(err)
		}
	}
	entries, err := s.List(t.Context(), recordsPrefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		r := &auditv1.Record{}
		if err := proto.Unmarshal(e.Value, r); err != nil {
			t.Fatal(err)
		}
		if recordKey(r.GetSeq()) != e.Key {
			t.Errorf("%s has the record %d", e.Key, r.GetSeq())
		}
		l.Records = append(l.Records, r)
	}
	return l
}

// whole fails unless the chain is.
func whole(t testing.TB, l chain.Log) {
	t.Helper()
	for _, p := range chain.Verify(l) {
		t.Error(p)
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
	"github.com/millrace/millrace/services/circuits/rest"
	"github.com/millrace/millrace/services/dashboard"
)

func TestEveryCallDeclaresItsRight(t *testing.T) {
	for _, c := range rights.Calls() {
		if c.Needs < rights.Nobody || c.Needs > rights.Service {
			t.Errorf("%s declares no right: write option (millrace.rights.v1.needs) into its .proto file", c.Procedure)
		}
		if c.Changes && c.Needs == rights.Viewer && c.API != "identity" { // where it is the viewer's own login
			t.Errorf("%s changes something, and a viewer may make it", c.Procedure)
		}
		if got := rights.Of(c.Procedure); got != c {
			t.Errorf("%s is found as %+v, listed as %+v", c.Procedure, got, c)
		}
	}
}

// roleHeader says who a request of these tests is from, in the place of a login.
const roleHeader = "Test-Role"

func byHeader(r *http.Request) (rights.Caller, error) {
	name := r.Header.Get(roleHeader)
	switch role, known := rights.Named(name); {
	case known:
		return rights.Caller{Name: "ann", Role: role}, nil
	case name == "service":
		return rights.Caller{Name: "push", Role: rights.Service}, nil
	case name == "":
		return rights.Anonymous, nil
	}
	return rights.Caller{}, connect.NewError(connect.CodeUnauthenticated, errors.New("no such token"))
}

// as sends every request from one caller.
type as struct {
	role string
	next http.RoundTripper
}

func (a as) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(roleHeader, a.role)
	return a.next.RoundTrip(r)
}

// answering is a handler of a whole service that answers every call with nothing.
func answering(api string) http.Handler {
	mux := http.NewServeMux()
	for _, c := range rights.Calls() {
		if path.Dir(c.Procedure) != "/"+api {
			continue
		}
		if !c.Streams {
			mux.Handle(c.Procedure, connect.NewUnaryHandler(c.Procedure, func(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[emptypb.Empty], error) {
				return connect.NewResponse(&emptypb.Empty{}), nil
			}, rpc.Bounded(rpc.MaxRequest)))
			continue
		}
		mux.Handle(c.Procedure, connect.NewBidiStreamHandler(c.Procedure, func(context.Context, *connect.BidiStream[emptypb.Empty, emptypb.Empty]) error { return nil }, rpc.Bounded(rpc.MaxRequest)))
	}
	return mux
}

// reached is a REST API that does nothing.
var reached = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// ports are what this tree listens on for calls, with the services behind each: the dashboard's, and one for each
// service that can run in a process of its own.
func ports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	var mounts []dashboard.Mount
	all := []string{eventv1connect.EventServiceName}
	for _, s := range services() {
		if s.api == "" {
			continue
		}
		its := []dashboard.Mount{{Path: "/" + s.api + "/", Handler: answering(s.api)}}
		if s.rest != "" {
			its = append(its, dashboard.Mount{Path: s.rest, Handler: reached, Call: s.restCall})
		}
		mounts, all = append(mounts, its...), append(all, s.api)
		out[servePort(t, its)] = []string{s.api}
	}
	memory := bus.NewMemory()
	cfg := dashboard.DefaultConfiguration()
	cfg.Listen = "127.0.0.1:0"
	registry := prometheus.NewRegistry()
	d, err := dashboard.New(cfg, dashboard.Dependencies{
		Handlers: append(mounts, versionPage()), Gate: rpc.Gate{Who: byHeader}, Bus: memory, Log: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Stop(context.Background()); memory.Close() })
	events.NewPublisher(memory, slog.New(slog.DiscardHandler)).Publish(t.Context(), events.PairFound, "subject", "one event")
	out[d.Addr().String()] = all
	return out
}

// servePort is the port of `millrace serve` with one service.
func servePort(t *testing.T, mounts []dashboard.Mount) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &process{
		cfg: defaultConfig(t.TempDir()), listener: l, mounts: mounts, gate: rpc.Gate{Who: byHeader}, log: slog.New(slog.DiscardHandler), metrics: prometheus.NewRegistry(), failed: make(chan error, 1),
	}
	s := newAPIServer(p)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return l.Addr().String()
}

var protocols = map[string]connect.ClientOption{"Connect": connect.WithClientOptions(), "gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb()}

// TestRolesAndCalls makes every call with every role, over every protocol, on every port, and compares what comes back
// with what the call declares. On the ports of `millrace serve` with mutual TLS it makes them with the certificate of
// every service, too.
func TestRolesAndCalls(t *testing.T) {
	client := rpc.NewRemote(rpc.Remote{})
	tried := 0
	all := ports(t)
	t.Cleanup(client.CloseIdleConnections) // for which the ports would wait
	for address, apis := range all {
		for _, role := range []string{"", "viewer", "operator", "approver", "admin", "service", "forged"} {
			sender := &http.Client{Transport: as{role, client.Transport}}
			for _, call := range rights.Calls() {
				if !slices.Contains(apis, path.Dir(call.Procedure)[1:]) {
					continue
				}
				for protocol, option := range protocols {
					tried++
					want := expected(role, call)
					if got := outcome(t, sender, "http://"+address+call.Procedure, call, option); got != want {
						t.Errorf("%s as %q over %s on %v: %v, want %v", call.Procedure, role, protocol, apis, got, want)
					}
				}
			}
			if slices.Contains(apis, serviceNamed("circuits").api) {
				tried += tryREST(t, sender, "http://"+address, role)
			}
		}
	}
	fmt.Printf("calls × roles: %d tried\n", tried)
	between := tryServices(t)
	fmt.Printf("calls × certificates of services, and people behind the dashboard: %d tried\n", between)
	if calls := len(rights.Calls()); tried < 7*3*calls {
		t.Errorf("%d calls, and %d tried", calls, tried)
	}
}

// expected is the code by the order of roles; 0 is success.
func expected(role string, call rights.Call) connect.Code {
	order := []string{"", "viewer", "operator", "approver", "admin", "service"}
	switch {
	case call.Needs == rights.Nobody:
		return 0
	case role == "forged" || role == "":
		return connect.CodeUnauthenticated
	case slices.Index(order, role) < slices.Index(order, rights.Name(call.Needs)):
		return connect.CodePermissionDenied
	}
	return 0
}

func outcome(t *testing.T, sender *http.Client, url string, call rights.Call, option connect.ClientOption) connect.Code {
	t.Helper()
	c := connect.NewClient[emptypb.Empty, emptypb.Empty](sender, url, option)
	if !call.Streams {
		_, err := c.CallUnary(t.Context(), connect.NewRequest(&emptypb.Empty{}))
		return codeIn(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request := &emptypb.Empty{}
	if call.Procedure == eventv1connect.EventServiceWatchProcedure { // which the dashboard answers: with the last event
		raw, err := proto.Marshal(&eventv1.WatchRequest{Recent: 1})
		if err != nil {
			t.Fatal(err)
		}
		request.ProtoReflect().SetUnknown(raw)
	}
	s, err := c.CallServerStream(ctx, connect.NewRequest(request))
	if err != nil {
		return codeIn(err)
	}
	if s.Receive() {
		return 0
	}
	return codeIn(s.Err())
}

func codeIn(err error) connect.Code {
	if err == nil {
		return 0
	}
	return connect.CodeOf(err)
}

// tryREST makes every call of the OpenAPI document.
func tryREST(t *testing.T, sender *http.Client, base, role string) (tried int) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(rest.OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	statuses := map[connect.Code]int{0: http.StatusNoContent, connect.CodeUnauthenticated: http.StatusUnauthorized, connect.CodePermissionDenied: http.StatusForbidden}
	for at, methods := range document.Paths {
		for method, operation := range methods {
			tried++
			r, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), base+strings.NewReplacer("{", "", "}", "").Replace(at), strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			answer, err := sender.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			want := statuses[expected(role, rights.Of("/"+serviceNamed("circuits").api+"/"+operation.OperationID))]
			if answer.StatusCode != want || want != http.StatusNoContent && answer.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s as %q: %s %s, want %d", method, at, role, answer.Status, answer.Header.Get("Content-Type"), want)
			}
		}
	}
	return tried
}

// The calls of a PE's agent are on its own port, which takes controllers by their certificates only.
func TestOnlyServicesCallAgents(t *testing.T) {
	if c := rights.Of(vpnv1connect.VpnAgentServiceInstallProcedure); c.Needs != rights.Service {
		t.Errorf("%s needs %s", c.Procedure, c.Needs)
	}
}

// Pages beside the calls.
func TestPagesHaveRightsToo(t *testing.T) {
	for address, apis := range ports(t) {
		for page, want := range map[string]map[string]int{
			"":       {"/healthz": 200, "/version": 401, "/metrics": 401, "/papers.json": 401, "/papers/a.svg": 401, "/v1/openapi.json": 204, "/v1/none": 401},
			"forged": {"/healthz": 200, "/metrics": 401, "/v1/openapi.json": 204},
			"viewer": {"/healthz": 200, "/version": 200, "/metrics": 200, "/papers.json": 200, "/papers/a.svg": 404, "/v1/openapi.json": 204, "/v1/none": 204},
		} {
			for at, status := range want {
				if len(apis) == 1 && (strings.HasPrefix(at, "/papers") || strings.HasPrefix(at, rest.Prefix)) {
					continue // only the dashboard's port has all of them
				}
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+at, nil)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := (&http.Client{Transport: as{page, http.DefaultTransport}}).Do(r)
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				if answer.StatusCode != status {
					t.Errorf("GET %s as %q on %v: %s, want %d", at, page, apis, answer.Status, status)
				}
			}
		}
	}
}

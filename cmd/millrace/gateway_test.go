package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/pki"
	free "github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/dashboard"
)

// A service that is unreachable is reported as its clients read errors: in problem details over plain HTTP, in
// Connect's words to others.
func TestGatewayToAServiceThatIsAway(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	p := &process{cfg: defaultConfig(t.TempDir()), hosted: map[string]bool{}, remotes: map[string]*http.Client{}, log: slog.New(slog.DiscardHandler), metrics: prometheus.NewRegistry()}
	p.cfg.Endpoints = map[string]addresses{"circuits": {gone.URL}}
	mounts, err := p.gateway()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, m := range mounts {
		mux.Handle(m.Path, m.Handler)
	}
	for path, want := range map[string]struct{ kind, member, value string }{
		"/v1/circuits": {"application/problem+json", "code", "UNAVAILABLE"},
		circuitsv1connect.CircuitsServiceListProcedure: {"application/json", "code", "unavailable"},
	} {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		var out map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Type") != want.kind || out[want.member] != want.value {
			t.Errorf("%s: %d %s %v", path, w.Code, w.Header().Get("Content-Type"), out)
		}
	}
}

// The gateway goes on to the next address of a service, with what its client sent, and counts that.
func TestGatewayGoesOnToTheNextReplica(t *testing.T) {
	gone := "http://" + free.Loopback(t)
	there := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %v", r.URL.Path, raw, err)
	}))
	there.Config.Protocols = rpc.Protocols()
	there.Start()
	defer there.Close()
	p := serving(t, rights.Front)
	p.cfg = configured(t, "endpoints: {circuits: ['"+gone+"', '"+there.URL+"']}\n")
	mounts, err := p.gateway()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, m := range mounts {
		mux.Handle(m.Path, m.Handler)
	}
	gateway := serveOn(t, mux)
	for _, path := range []string{"/v1/circuits", circuitsv1connect.CircuitsServiceReleaseProcedure} {
		answer, err := http.Post(gateway+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if said, err := io.ReadAll(answer.Body); err != nil || string(said) != path+" {} <nil>" {
			t.Errorf("%s: %s %q %v", path, answer.Status, said, err)
		}
	}
	for address, want := range map[string]float64{gone: 1, there.URL: 0} {
		if got := testutil.ToFloat64(p.failedOver.WithLabelValues("circuits", address)); got != want {
			t.Errorf("%v calls went on from %s, want %v", got, address, want)
		}
	}
}

// An address of a list that another service answers at gets nothing of what is forwarded: every one has to prove that
// it is the service.
func TestEveryAddressOfAListProvesItself(t *testing.T) {
	ca := pki.New(t)
	reached := map[string]int{}
	port := func(name string) string {
		return securePort(t, ca, name, "on", dashboard.Mount{Path: "/millrace.push.v1.ChangeService/", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			reached[name]++
		})})
	}
	another, base := port("alpha"), port("push")
	cert, key := ca.Issue(t, rights.Front, "dashboard.millrace")
	p := &process{
		name: rights.Front, hosted: map[string]bool{}, remotes: map[string]*http.Client{}, log: slog.New(slog.DiscardHandler), metrics: prometheus.NewRegistry(),
		cfg: configured(t, "identity: {mode: on}\nendpoints: {push: ['"+another+"', '"+base+"']}\ntls: {ca: "+ca.CA+", cert: "+cert+", key: "+key+"}\n"),
	}
	var err error
	if p.credentials, err = mtls.New(p.cfg.TLS.files(rights.Front), mtls.Dependencies{}); err != nil {
		t.Fatal(err)
	}
	mounts, err := p.gateway()
	if err != nil {
		t.Fatal(err)
	}
	ann := rights.Caller{Name: "ann", Role: rights.Approver}
	gateway := serveOn(t, rpc.As(ann, func() rpc.Recorder { return nil }, mounts[0].Handler))
	answer, err := http.Post(gateway+pushv1connect.ChangeServiceApproveProcedure, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK || reached["push"] != 1 || reached["alpha"] != 0 {
		t.Errorf("%s, reached %v", answer.Status, reached)
	}
}

// A page that rebinds its name to the loopback reaches the port of a service as it reaches the dashboard's.
func TestPortsOfServicesAreGuarded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := serving(t, "push", "policy")
	p.listener = l
	if err := p.assemble(); err != nil {
		t.Fatal(err)
	}
	p.metrics = prometheus.NewRegistry() // assemble made one with a server of its own
	s := newAPIServer(p)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	for host, want := range map[string]int{"evil.example": http.StatusMisdirectedRequest, "": http.StatusOK, "localhost:7001": http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("host %q: %s, want %d", host, a.Status, want)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// A service that is unreachable is reported as its clients read errors: in problem details over plain HTTP, in
// Connect's words to others.
func TestGatewayToAServiceThatIsAway(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	p := &process{cfg: defaultConfig(t.TempDir()), hosted: map[string]bool{}, remotes: map[string]*http.Client{}, log: slog.New(slog.DiscardHandler)}
	p.cfg.Endpoints = map[string]string{"circuits": gone.URL}
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

package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// A service that is away is told as its clients read errors: in problem details over plain HTTP, in Connect's words to
// others.
func TestGatewayToAServiceThatIsAway(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	p := &process{cfg: defaultConfig(t.TempDir()), hosted: map[string]bool{}, log: slog.New(slog.DiscardHandler)}
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

package rpc

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGuard(t *testing.T) {
	const approve = "/millrace.push.v1.ChangeService/Approve"
	for name, tt := range map[string]struct {
		method, host string
		header       map[string]string
		want         int
		refused      string
	}{
		"the command line, which sends no origin, may change things":     {"POST", "127.0.0.1:8080", nil, 200, ""},
		"the page's own request may change things":                       {"POST", "localhost:8080", map[string]string{"Origin": "http://localhost:8080", "Sec-Fetch-Site": "same-origin"}, 200, ""},
		"an old browser's own request is told by its origin alone":       {"POST", "localhost:8080", map[string]string{"Origin": "http://localhost:8080"}, 200, ""},
		"IPv6 loopback is an address like any other":                     {"POST", "[::1]:8080", nil, 200, ""},
		"a configured name is known, whatever its case":                  {"GET", "NOC.example.net", nil, 200, ""},
		"a foreign site may not change things":                           {"POST", "127.0.0.1:8080", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403, "cross-origin"},
		"another port of this host is another origin":                    {"POST", "127.0.0.1:8080", map[string]string{"Origin": "http://127.0.0.1:9999"}, 403, "cross-origin"},
		"a sandboxed frame has a null origin and may not":                {"POST", "127.0.0.1:8080", map[string]string{"Origin": "null"}, 403, "cross-origin"},
		"a name that a foreign DNS points at us is refused even to read": {"GET", "rebind.evil.example:8080", nil, 421, "unknown-host"},
		"a rebound name is refused though its origin matches":            {"POST", "evil.example", map[string]string{"Origin": "http://evil.example"}, 421, "unknown-host"},
		"a name that only starts like localhost is not localhost":        {"GET", "localhost.evil.example", nil, 421, "unknown-host"},
		"a name that looks like an address but is not one is no address": {"GET", "127.0.0.1.evil.example", nil, 421, "unknown-host"},
		"a request without any host is refused":                          {"GET", "", nil, 421, "unknown-host"},
	} {
		t.Run(name, func(t *testing.T) {
			reached, refused := false, ""
			g := Guard{Hosts: []string{"noc.example.net"}, Refused: func(reason string) { refused = reason }}
			h := g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
			r := httptest.NewRequest(tt.method, approve, nil)
			r.Host = tt.host
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if diff := cmp.Diff(w.Code, tt.want); diff != "" {
				t.Errorf("status (-got +want):\n%s", diff)
			}
			if reached != (tt.want == 200) {
				t.Errorf("request reached the API: %v", reached)
			}
			if refused != tt.refused {
				t.Errorf("counted as %q, want %q", refused, tt.refused)
			}
		})
	}
}

// Who speaks JSON over plain HTTP reads errors as problem details, those of the guard too.
func TestTheGuardAnswersInProblemDetails(t *testing.T) {
	for _, tt := range []struct {
		host, origin string
		status       int
		code         string
	}{
		{"evil.example", "", http.StatusMisdirectedRequest, "UNKNOWN_HOST"},
		{"127.0.0.1:8080", "https://evil.example", http.StatusForbidden, "CROSS_ORIGIN"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/circuits", nil)
		r.Host = tt.host
		r.Header.Set("Origin", tt.origin)
		w := httptest.NewRecorder()
		Guard{Setting: "dashboard.hosts", Refused: func(string) {}}.Wrap(http.NotFoundHandler()).ServeHTTP(w, r)
		var out struct {
			Type, Title, Detail, Code string
			Status                    int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatalf("%s: %v", tt.code, err)
		}
		if w.Code != tt.status || w.Header().Get("Content-Type") != "application/problem+json" || out.Status != tt.status || out.Code != tt.code ||
			out.Type == "" || out.Title == "" || out.Detail == "" {
			t.Errorf("%s: %d %s %+v", tt.code, w.Code, w.Header(), out)
		}
	}
}

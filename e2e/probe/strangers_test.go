package probe

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/program"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
)

// types are the content types of calls over HTTP/1.1.
var types = []string{"application/json", "application/proto", "application/connect+json", "application/connect+proto", "application/grpc-web+proto", "application/grpc", "text/plain", ""}

// strangers make every call without a login, as every type: only what is open is answered.
func (w *world) strangers(t *testing.T) {
	for _, c := range calls() {
		for _, kind := range types {
			body := []byte("{}")
			if strings.Contains(kind, "grpc") || strings.Contains(kind, "connect+") {
				body = framed(nil)
			}
			a := w.ask(t, request{method: "POST", target: c.Procedure, header: map[string]string{"Content-Type": kind}, body: body})
			refused := strings.Contains(said(a), "needs a login")
			if c.Needs == rights.Nobody { // Permissions says of other calls that they need one
				refused = refused && w.unknown(a)
			}
			if refused == (c.Needs == rights.Nobody) {
				t.Errorf("%s as %q, which needs %s: %d %s", c.Procedure, kind, rights.Name(c.Needs), a.status, a.body)
			}
		}
	}
}

// said is what an answer says, in any protocol.
func said(a answer) string {
	text, err := url.PathUnescape(a.header.Get("Grpc-Message"))
	if err != nil {
		text = a.header.Get("Grpc-Message")
	}
	return text + string(a.body)
}

// unknown reports whether an answer says that it knows no login, in any protocol.
func (w *world) unknown(a answer) bool {
	return a.status == http.StatusUnauthorized || a.header.Get("Grpc-Status") == "16" || strings.Contains(string(a.body), `"code":"unauthenticated"`)
}

// credentials that are none open nothing.
func (w *world) credentials(t *testing.T) {
	api := identityv1connect.NewIdentityServiceClient(w.client, w.base)
	program.Until(t, "the short token has expired", func() (bool, any) {
		q := connect.NewRequest(&identityv1.ListTokensRequest{})
		q.Header().Set("Authorization", "Bearer "+w.expired)
		_, err := api.ListTokens(t.Context(), q)
		return connect.CodeOf(err) == connect.CodeUnauthenticated, err
	})
	name, value, _ := strings.Cut(w.cookie, "=")
	large := strings.Repeat("A", 512<<10)
	shown := map[string]map[string]string{
		"an expired token":     {"Authorization": "Bearer " + w.expired},
		"no token":             {"Authorization": "Bearer "},
		"another scheme":       {"Authorization": "Basic YWRtaW46YWRtaW4="},
		"garbage":              {"Authorization": "Bearer ../../../etc/passwd%00'\"<>"},
		"a cut token":          {"Authorization": "Bearer " + w.admin[:len(w.admin)-1]},
		"a changed token":      {"Authorization": "Bearer " + w.admin[:len(w.admin)-2] + "~~"},
		"a longer token":       {"Authorization": "Bearer " + w.admin + "A"},
		"a session as token":   {"Authorization": "Bearer " + value},
		"a token as session":   {"Cookie": name + "=" + w.admin},
		"a changed session":    {"Cookie": name + "=" + value[:len(value)-2] + "~~"},
		"an empty session":     {"Cookie": name + "="},
		"a large token":        {"Authorization": "Bearer " + large},
		"a large session":      {"Cookie": name + "=" + large},
		"many sessions":        {"Cookie": strings.Repeat(name+"=a; ", 10000) + name + "=b"},
		"a JWT without a key":  {"Authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9."},
		"words of the gateway": {"Millrace-For": "CgVhZG1pbhAF", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-User": "admin", "X-Remote-User": "admin", "X-Real-Ip": "127.0.0.1"},
	}
	for what, header := range shown {
		for _, target := range []string{"/millrace.push.v1.ChangeService/List", "/v1/circuits", "/metrics", "/version", "/debug/pprof/"} {
			method := "GET"
			if strings.HasPrefix(target, "/millrace") {
				method, header["Content-Type"] = "POST", "application/json"
			}
			if a := w.ask(t, request{method: method, target: target, header: header, body: []byte("{}")}); a.status != http.StatusUnauthorized {
				t.Errorf("%s at %s: %d %.200s", what, target, a.status, a.body)
			}
		}
	}
}

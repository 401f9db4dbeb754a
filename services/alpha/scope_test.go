package alpha

import (
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
)

// as is the API for an operator who is limited to a scope.
func (l *live) as(t *testing.T, scope rights.Scope) alphav1connect.AlphaServiceClient {
	who := rights.Caller{Name: "ann", Role: rights.Operator, Limits: rights.Limits{Scope: scope}}
	mux := http.NewServeMux()
	path, h := l.c.Handler()
	mux.Handle(path, rpc.As(who, func() rpc.Recorder { return nil }, h))
	server := rpc.NewLocal(mux)
	t.Cleanup(func() { server.Close() })
	return alphav1connect.NewAlphaServiceClient(server.Client(), rpc.LocalURL)
}

// A redirect is about the router where the pair enters, wr, and the policy of the change set; a nightly run about all
// routers.
func TestRedirectsAndNightsOfAScope(t *testing.T) {
	l := newLive(t, nil)
	l.send(t, part("10.2.0.9", 0, 2e9))
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	for name, tt := range map[string]struct {
		scope           rights.Scope
		redirect, night string
	}{
		"another router": {rights.Scope{Routers: []string{"er"}, Policies: []string{"*"}}, "router wr", "every router"},
		"another policy": {rights.Scope{Routers: []string{"*"}, Policies: []string{"lbe"}}, "policy hntes-two-queue", "policy hntes-two-queue"},
		"its router":     {rights.Scope{Routers: []string{"wr"}, Policies: []string{"hntes-*"}}, "", "every router"},
	} {
		api := l.as(t, tt.scope)
		if tt.redirect != "" {
			_, err := api.Redirect(t.Context(), connect.NewRequest(&alphav1.RedirectRequest{Pair: "10.1.0.0/24,10.2.0.0/24"}))
			if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "is about "+tt.redirect+";") {
				t.Errorf("%s: redirect: %v", name, err)
			}
		}
		_, err := api.Nightly(t.Context(), connect.NewRequest(&alphav1.NightlyRequest{}))
		if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "is about "+tt.night+";") {
			t.Errorf("%s: night: %v", name, err)
		}
	}
	if len(l.created) != 0 {
		t.Errorf("%d change sets", len(l.created))
	}
	_, err := l.as(t, rights.Scope{Routers: []string{"wr"}, Policies: []string{"hntes-*"}}).Redirect(t.Context(), connect.NewRequest(&alphav1.RedirectRequest{Pair: "10.3.0.0/24,10.2.0.0/24"}))
	if connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a pair that is not alpha: %v", err)
	}
	within := l.as(t, rights.Scope{Routers: []string{"wr"}, Policies: []string{"hntes-*"}})
	if _, err := within.Redirect(t.Context(), connect.NewRequest(&alphav1.RedirectRequest{Pair: "10.1.0.0/24,10.2.0.0/24"})); err != nil || len(l.created) != 1 {
		t.Errorf("its router and its policy: %v, %d change sets", err, len(l.created))
	}
	if _, err := l.as(t, rights.Scope{Routers: []string{"*"}, Policies: []string{"*"}}).Nightly(t.Context(), connect.NewRequest(&alphav1.NightlyRequest{})); err != nil {
		t.Errorf("a night of all routers: %v", err)
	}
}

// A pair whose exporter is of no router may enter anywhere.
func TestAPairOfNoRouterIsOfNoScope(t *testing.T) {
	l := newLive(t, nil)
	r := part("10.2.0.9", 0, 2e9)
	r.Exporter = []byte{203, 0, 113, 9}
	l.send(t, r)
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	_, err := l.as(t, rights.Scope{Routers: []string{"wr", "?", "??"}, Policies: []string{"*"}}).Redirect(t.Context(), connect.NewRequest(&alphav1.RedirectRequest{Pair: "10.1.0.0/24,10.2.0.0/24"}))
	if connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "is about every router;") {
		t.Error(err)
	}
}

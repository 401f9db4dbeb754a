package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	"github.com/millrace/millrace/services/identity"
)

// permissionsOf are those that IdentityService answers a caller with, behind a gate.
func permissionsOf(t *testing.T, mode, as string) *identityv1.PermissionsResponse {
	t.Helper()
	cfg := identity.DefaultConfiguration()
	cfg.Mode = mode
	c, err := identity.New(cfg, identity.Dependencies{})
	if err != nil {
		t.Fatal(err)
	}
	gate := rpc.Gate{Who: scoped}
	if mode == identity.ModeOff {
		gate.Who = nil
	}
	at, handler := c.Handler()
	mux := http.NewServeMux()
	mux.Handle(at, gate.Wrap(nil, handler))
	server := httptest.NewServer(mux)
	defer server.Close()
	client := identityv1connect.NewIdentityServiceClient(sending(as, server), server.URL)
	r, err := client.Permissions(t.Context(), connect.NewRequest(&identityv1.PermissionsRequest{}))
	if err != nil {
		t.Fatalf("%s: %v", as, err)
	}
	return r.Msg
}

func sending(role string, server *httptest.Server) *http.Client {
	return &http.Client{Transport: as{role, server.Client().Transport}}
}

// TestPermissionsAreWhatTheGateDoes makes every call as every role without and with limits. What IdentityService says
// to be refused is refused whatever the request is about, and the rest is let through where it is about what is within
// the limits.
func TestPermissionsAreWhatTheGateDoes(t *testing.T) {
	said := map[string]map[string]*identityv1.Permission{}
	for _, role := range []string{"viewer", "operator", "approver", "admin"} {
		for _, of := range []string{"", "@person", "@token", "@routers", "@api"} {
			by := map[string]*identityv1.Permission{}
			for _, p := range permissionsOf(t, identity.ModeOn, role+of).GetCalls() {
				by[p.GetProcedure()] = p
			}
			said[role+of] = by
		}
	}
	refused, counts := 0, map[bool]int{}
	for _, c := range rights.Calls() {
		server := httptest.NewServer(answeringInFull(t, c, &refused))
		for as, calls := range said {
			p := calls[c.Procedure]
			if p == nil || p.GetNeeds() != c.Needs {
				t.Fatalf("%s as %s: %v", c.Procedure, as, p)
			}
			counts[p.GetRefused() != ""]++
			through := 0
			for _, name := range []string{inside, outside, ""} {
				if _, _, err := askScoped(t, sending(as, server), server.URL, c, name); err == nil {
					through++
				}
			}
			switch no := p.GetRefused() != ""; {
			case no && through > 0:
				t.Errorf("%s as %s is said to be refused (%s), and %d of 3 requests are let through", c.Procedure, as, p.GetRefused(), through)
			case !no && !p.GetWithinLimits() && through < 3:
				t.Errorf("%s as %s is said to be let through, and %d of 3 requests are", c.Procedure, as, through)
			case !no && through == 0 && !partly(as, c):
				t.Errorf("%s as %s is said to be let through within the limits, and no request is", c.Procedure, as)
			}
		}
		server.Close()
	}
	fmt.Printf("calls × callers: %d said to be refused, %d to be let through\n", counts[true], counts[false])
	if counts[true] == 0 || counts[false] == 0 {
		t.Error(counts)
	}
}

// partly reports whether the requests of these tests name more kinds than the caller's limits have, in fields that may
// be empty.
func partly(as string, c rights.Call) bool {
	return strings.HasSuffix(as, "@routers") && len(c.Subject.GetVpns())+len(c.Subject.GetPolicies()) > 0
}

// Where nobody logs in nothing is refused.
func TestPermissionsWithoutLogins(t *testing.T) {
	p := permissionsOf(t, identity.ModeOff, "viewer")
	if p.GetLoginNeeded() || len(p.GetCalls()) != len(rights.Calls()) {
		t.Errorf("%v", p)
	}
	for _, c := range p.GetCalls() {
		if c.GetRefused() != "" || c.GetWithinLimits() {
			t.Errorf("%v", c)
		}
	}
}

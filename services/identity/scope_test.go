package identity

import (
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/oidc"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	rightsv1 "github.com/millrace/millrace/proto/gen/millrace/rights/v1"
)

// limits are what a login is limited to.
func (w *world) limits(t *testing.T, c caller) string {
	t.Helper()
	r, err := w.as(c).WhoAmI(t.Context(), connect.NewRequest(&identityv1.WhoAmIRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return rights.LimitsOf(r.Msg.GetLimits()).String()
}

var edges = &rightsv1.Scope{Routers: []string{"edge-*"}}

// What a person is limited to counts from the next request on, for sessions and tokens, and a token may be limited
// more.
func TestScopesAreThoseOfNow(t *testing.T) {
	w := start(t, nil)
	w.add(t, "ann", rights.Operator)
	ann, admin := w.in(t, "ann"), w.as(w.admin(t))
	token, _ := w.token(t, ann, &identityv1.CreateTokenRequest{Name: "all"})
	less, _ := w.token(t, ann, &identityv1.CreateTokenRequest{Name: "less", Scope: &rightsv1.Scope{Policies: []string{"te"}}})
	for _, tt := range []struct {
		put                  *identityv1.PutUserRequest
		session, token, less string
	}{
		{nil, "", "", "its token for policy=te"},
		{&identityv1.PutUserRequest{Name: "ann", Role: rights.Operator, Scope: edges},
			"operator for router=edge-*", "operator for router=edge-*", "operator for router=edge-*, its token for policy=te"},
		{&identityv1.PutUserRequest{Name: "ann", Role: rights.Viewer}, "", "", "its token for policy=te"},
	} {
		if tt.put != nil {
			if _, err := admin.PutUser(t.Context(), connect.NewRequest(tt.put)); err != nil {
				t.Fatal(err)
			}
		}
		for c, want := range map[caller]string{ann: tt.session, bearer(token): tt.token, bearer(less): tt.less} {
			if got := w.limits(t, c); got != want {
				t.Errorf("after %v: %q, want %q", tt.put, got, want)
			}
		}
	}
}

func TestScopesThatAreNone(t *testing.T) {
	w := start(t, nil)
	w.add(t, "ann", rights.Operator)
	ann, admin := w.in(t, "ann"), w.as(w.admin(t))
	for name, q := range map[string]*identityv1.PutUserRequest{
		"an admin with a scope":  {Name: "bob", Role: rights.Admin, Scope: edges},
		"a pattern that is none": {Name: "bob", Role: rights.Viewer, Scope: &rightsv1.Scope{Routers: []string{"["}}},
		"an empty pattern":       {Name: "bob", Role: rights.Viewer, Scope: &rightsv1.Scope{Vpns: []string{""}}},
	} {
		if _, err := admin.PutUser(t.Context(), connect.NewRequest(q)); codeIn(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.as(ann).CreateToken(t.Context(), connect.NewRequest(&identityv1.CreateTokenRequest{Name: "x", Scope: &rightsv1.Scope{Routers: []string{"["}}})); codeIn(err) != connect.CodeInvalidArgument {
		t.Errorf("a token for a pattern that is none: %v", err)
	}
}

// Each group of the provider gives its role for its scope, and what it gives is asked for again.
func TestScopesOfGroups(t *testing.T) {
	w, p := withProvider(t, false, func(c *Configuration, _ *Dependencies) {
		c.OIDC.Limits = map[string]rights.Scope{"noc-approvers": {Routers: []string{"edge-*"}}}
	})
	p.People(t, of("noc", "noc-approvers"))
	ann, said, err := w.ends(t, w.at(t, "s-ann"))
	if err != nil || said.GetRole() != rights.Approver {
		t.Fatalf("%v, %v", said, err)
	}
	if got := w.limits(t, ann); got != "viewer for everything, approver for router=edge-*" {
		t.Errorf("of both groups: %q", got)
	}
	p.People(t, of("noc"))
	w.wait(w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	if got, role := w.limits(t, ann), w.role(t, ann); got != "" || role != rights.Viewer {
		t.Errorf("of one group: %q as %s", got, role)
	}
	p.People(t, map[string]oidc.Person{"s-ann": {Name: "ann", Groups: []string{"noc-approvers"}}})
	w.wait(w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	if got := w.limits(t, ann); got != "approver for router=edge-*" {
		t.Errorf("of the other group: %q", got)
	}
}

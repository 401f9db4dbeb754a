package identity

import (
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

func (w *world) link(t *testing.T, of caller) string {
	t.Helper()
	r, err := w.as(of).CreateLink(t.Context(), connect.NewRequest(&identityv1.CreateLinkRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg.GetCode()
}

func (w *world) redeemed(t *testing.T, code string) (*identityv1.RedeemResponse, error) {
	t.Helper()
	r, err := w.anonymous().Redeem(t.Context(), connect.NewRequest(&identityv1.RedeemRequest{Code: code}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// A person's own link logs in that person, once, with the role and the scope that the person has by then.
func TestOwnLinksGiveNothingMore(t *testing.T) {
	w := start(t, nil)
	w.add(t, "ann", rights.Approver)
	ann, admin := w.in(t, "ann"), w.as(w.admin(t))
	code, late := w.link(t, ann), w.link(t, ann)
	edge := &identityv1.PutUserRequest{Name: "ann", Role: rights.Operator, Scope: rights.ScopeMessage(rights.Scope{Routers: []string{"edge-*"}})}
	if _, err := admin.PutUser(t.Context(), connect.NewRequest(edge)); err != nil {
		t.Fatal(err)
	}
	if got, err := w.redeemed(t, code); err != nil || got.GetName() != "ann" || got.GetRole() != rights.Operator {
		t.Fatalf("%v %v, want ann, operator", got, err)
	}
	who, err := w.as(ann).WhoAmI(t.Context(), connect.NewRequest(&identityv1.WhoAmIRequest{}))
	if err != nil || rights.LimitsOf(who.Msg.GetLimits()).None() {
		t.Errorf("the link took the limits away: %v %v", who, err)
	}
	w.wait(w.Lifetime())
	for name, used := range map[string]string{"a second time": code, "too late": late} {
		if got, err := w.redeemed(t, used); codeIn(err) != unauthenticated {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// Who ends the logins of a person ends the links that one of them made.
func TestOwnLinksEndWithThePersonsLogins(t *testing.T) {
	w := start(t, nil)
	admin := w.as(w.admin(t))
	for name, end := range map[string]func(caller) error{
		"log-out everywhere": func(ann caller) error {
			_, err := w.as(ann).Logout(t.Context(), connect.NewRequest(&identityv1.LogoutRequest{Everywhere: true}))
			return err
		},
		"another password": func(caller) error {
			_, err := admin.SetPassword(t.Context(), connect.NewRequest(&identityv1.SetPasswordRequest{Name: "ann", New: password + "!"}))
			return err
		},
		"the person's end": func(caller) error {
			_, err := admin.DeleteUser(t.Context(), connect.NewRequest(&identityv1.DeleteUserRequest{Name: "ann"}))
			return err
		},
	} {
		w.add(t, "ann", rights.Operator)
		ann := w.in(t, "ann")
		code := w.link(t, ann)
		if err := end(ann); err != nil {
			t.Fatal(name, err)
		}
		if got, err := w.redeemed(t, code); codeIn(err) != unauthenticated {
			t.Errorf("after %s: %v %v", name, got, err)
		}
	}
}

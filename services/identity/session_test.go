package identity

import (
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// A token that leaks must not become a login that outlives it: admin has no password after the first login.
func TestATokenCannotTakeItsPersonOver(t *testing.T) {
	w := start(t, nil)
	admin := w.admin(t)
	leaked, id := w.token(t, admin, &identityv1.CreateTokenRequest{Name: "prometheus", Role: rights.Viewer})
	_, other := w.token(t, admin, &identityv1.CreateTokenRequest{Name: "other"})
	full, _ := w.token(t, admin, &identityv1.CreateTokenRequest{Name: "full"})
	for _, secret := range []string{leaked, full} {
		by := w.as(bearer(secret))
		for name, call := range map[string]func() error{
			"sets a password": func() error {
				_, err := by.SetPassword(t.Context(), connect.NewRequest(&identityv1.SetPasswordRequest{New: password}))
				return err
			},
			"makes a token": func() error {
				_, err := by.CreateToken(t.Context(), connect.NewRequest(&identityv1.CreateTokenRequest{Name: "more", Role: rights.Viewer}))
				return err
			},
			"makes a login link": func() error {
				_, err := by.CreateLink(t.Context(), connect.NewRequest(&identityv1.CreateLinkRequest{}))
				return err
			},
			"ends other logins": func() error {
				_, err := by.Logout(t.Context(), connect.NewRequest(&identityv1.LogoutRequest{Everywhere: true}))
				return err
			},
			"revokes another token": func() error {
				_, err := by.RevokeToken(t.Context(), connect.NewRequest(&identityv1.RevokeTokenRequest{Id: other}))
				return err
			},
		} {
			if err := call(); codeIn(err) != denied {
				t.Errorf("a token %s: %v", name, err)
			}
		}
	}
	if _, err := w.login(firstAdmin, password); codeIn(err) != unauthenticated {
		t.Errorf("the password is set: %v", err)
	}
	if w.reads(admin) != 0 {
		t.Error("the session has ended")
	}
	if _, err := w.as(bearer(leaked)).RevokeToken(t.Context(), connect.NewRequest(&identityv1.RevokeTokenRequest{Id: id})); err != nil {
		t.Errorf("a token may not revoke itself: %v", err)
	}
	if code := w.reads(bearer(leaked)); code != unauthenticated {
		t.Errorf("after it revoked itself: %v", code)
	}
}

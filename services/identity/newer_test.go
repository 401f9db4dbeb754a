package identity

import (
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/newer"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// A newer process runs beside this one, and writes fields that this one does not know, perhaps a restriction of a role:
// they are there after this one has written the records again.
func TestFieldsOfANewerProcessStay(t *testing.T) {
	newer.Owner(t, "services/identity")
	t.Run("a person whom the provider confirms and who logs in again", func(t *testing.T) {
		w, p := withProvider(t, false, nil)
		p.People(t, of("noc", "noc-approvers"))
		if _, _, err := w.ends(t, w.at(t, "s-ann")); err != nil {
			t.Fatal(err)
		}
		kept := newer.Plant(t, w.deps.State, usersPrefix)
		w.wait(w.cfg.OIDC.Recheck)
		w.confirm(t.Context())
		kept.Stay(t)
		kept = newer.Plant(t, w.deps.State, usersPrefix, subjectsPrefix)
		if _, _, err := w.ends(t, w.at(t, "s-ann")); err != nil {
			t.Fatal(err)
		}
		kept.Stay(t)
	})
	t.Run("a person who gets another password, and another role", func(t *testing.T) {
		w := start(t, nil)
		admin := w.admin(t)
		w.add(t, "bob", rights.Viewer)
		kept := newer.Plant(t, w.deps.State, userKey("bob"))
		if _, err := w.as(admin).SetPassword(t.Context(), connect.NewRequest(&identityv1.SetPasswordRequest{Name: "bob", New: "another long password"})); err != nil {
			t.Fatal(err)
		}
		kept.Stay(t)
		kept = newer.Plant(t, w.deps.State, userKey("bob"))
		put := &identityv1.PutUserRequest{Name: "bob", Role: rights.Operator}
		if _, err := w.as(admin).PutUser(t.Context(), connect.NewRequest(put)); err != nil {
			t.Fatal(err)
		}
		kept.Stay(t)
	})
	t.Run("logins that are used", func(t *testing.T) {
		w := start(t, nil)
		admin := w.admin(t)
		secret, _ := w.token(t, admin, &identityv1.CreateTokenRequest{Name: "ci"})
		kept := newer.Plant(t, w.deps.State, sessionsPrefix, tokensPrefix)
		w.wait(2 * time.Minute)
		if session, token := w.reads(admin), w.reads(bearer(secret)); session != 0 || token != 0 {
			t.Fatalf("the session: %v, the token: %v", session, token)
		}
		kept.Stay(t)
	})
}

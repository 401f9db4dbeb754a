package identity

import (
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

func (w *world) remove(t *testing.T, by caller, name string) error {
	t.Helper()
	_, err := w.as(by).DeleteUser(t.Context(), connect.NewRequest(&identityv1.DeleteUserRequest{Name: name}))
	return err
}

// What was made in the moment in which its person was removed is nobody's, also once a link adds a person of that name.
func TestALoginLinkRevivesNothing(t *testing.T) {
	w := start(t, nil)
	w.add(t, "root2", rights.Admin)
	root2, session := w.in(t, "root2"), w.admin(t)
	passed := rights.With(t.Context(), rights.Caller{Name: firstAdmin, Role: rights.Admin, Session: true, Credential: "x"})
	if err := w.remove(t, root2, firstAdmin); err != nil {
		t.Fatal(err)
	}
	r, err := (&api{w.Component}).CreateToken(passed, connect.NewRequest(&identityv1.CreateTokenRequest{Name: "late"}))
	if err != nil {
		t.Fatal(err)
	}
	token, again := bearer(r.Msg.GetSecret()), w.admin(t)
	if code := w.reads(again); code != 0 {
		t.Fatalf("who used the link: %v", code)
	}
	for name, of := range map[string]caller{"session": session, "token": token} {
		if code := w.reads(of); code != unauthenticated {
			t.Errorf("the %s of the removed admin: %v", name, code)
		}
	}
}

// A removal that ended before the logins were deleted can be made again, and is answered that nobody is called so.
func TestARemovalIsFinished(t *testing.T) {
	var away atomic.Bool
	w := start(t, func(_ *Configuration, d *Dependencies) {
		d.State = d.State.WithFaults(func(key string, value []byte) state.Fault {
			if away.Load() && value == nil && strings.HasPrefix(key, tokensPrefix) {
				return state.Refused
			}
			return state.None
		})
	})
	w.add(t, "ann", rights.Operator)
	admin := w.admin(t)
	w.token(t, w.in(t, "ann"), &identityv1.CreateTokenRequest{Name: "ci"})
	away.Store(true)
	for range 2 {
		if err := w.remove(t, admin, "ann"); codeIn(err) != connect.CodeUnavailable {
			t.Fatalf("the tokens cannot be deleted: %v", err)
		}
	}
	away.Store(false)
	if err := w.remove(t, admin, "ann"); codeIn(err) != connect.CodeNotFound {
		t.Errorf("the second removal: %v", err)
	}
	if keys, err := w.deps.State.Keys(t.Context(), tokensPrefix); err != nil || len(keys) > 0 {
		t.Errorf("tokens of nobody: %v %v", keys, err)
	}
}

package identity

import (
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// What the gateway's process is answered is what Who answers in this one; nobody but a service may ask.
func TestAuthenticate(t *testing.T) {
	w := start(t, nil)
	admin := w.admin(t)
	secret, id := w.token(t, admin, &identityv1.CreateTokenRequest{Name: "ci", Role: rights.Operator, Apis: []string{"push"}})
	ask := func(q *identityv1.AuthenticateRequest) (*identityv1.Caller, error) {
		r, err := (&api{w.Component}).Authenticate(t.Context(), connect.NewRequest(q))
		if err != nil {
			return nil, err
		}
		return r.Msg.GetCaller(), nil
	}
	if c, err := ask(&identityv1.AuthenticateRequest{Authorization: "Bearer " + secret}); err != nil || c.GetName() != "admin" || c.GetRole() != rights.Operator || c.GetCredential() != id || c.GetApis()[0] != "push" || c.GetSession() {
		t.Errorf("a token: %v, %v", c, err)
	}
	if c, err := ask(&identityv1.AuthenticateRequest{Cookie: admin.value}); err != nil || c.GetName() != "admin" || c.GetRole() != rights.Admin || !c.GetSession() {
		t.Errorf("a session: %v, %v", c, err)
	}
	if c, err := ask(&identityv1.AuthenticateRequest{}); err != nil || c.GetRole() != rights.Nobody {
		t.Errorf("nobody: %v, %v", c, err)
	}
	if _, err := ask(&identityv1.AuthenticateRequest{Authorization: "Bearer mrt_x"}); codeIn(err) != connect.CodeUnauthenticated {
		t.Errorf("a wrong token: %v", err)
	}
	if _, err := w.as(admin).Authenticate(t.Context(), connect.NewRequest(&identityv1.AuthenticateRequest{})); codeIn(err) != connect.CodePermissionDenied {
		t.Errorf("an admin asks: %v", err)
	}
}

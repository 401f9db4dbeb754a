//go:build keycloak

package identity

import (
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/oidc"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// Another provider than the one of the other tests, as an operator has it: `make keycloak` runs this.
func TestKeycloak(t *testing.T) {
	k := oidc.StartKeycloak(t, back)
	w := start(t, func(c *Configuration, _ *Dependencies) {
		c.URL = "http://127.0.0.1:8080"
		c.OIDC.Issuer, c.OIDC.ClientID, c.OIDC.ClientSecretFile = k.Issuer, k.Client, k.SecretFile
		c.OIDC.Roles = map[string]string{"noc": "viewer", "noc-approvers": "approver"}
	})
	w.set(time.Now())
	answer := w.at(t, "ann")
	ann, said, err := w.ends(t, answer)
	if err != nil || said.GetName() != "ann" || said.GetRole() != rights.Approver {
		t.Fatalf("%v %v", said, err)
	}
	if _, _, err := w.ends(t, answer); codeIn(err) != unauthenticated {
		t.Errorf("the answer a second time: %v", err)
	}
	k.Leave(t, "noc-approvers")
	w.wait(w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	if got := w.role(t, ann); got != rights.Viewer {
		t.Errorf("out of the approvers' group: %s", got)
	}
	begun, err := w.anonymous().BeginDeviceLogin(t.Context(), connect.NewRequest(&identityv1.BeginDeviceLoginRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	end := func() (*connect.Response[identityv1.EndDeviceLoginResponse], error) {
		return w.anonymous().EndDeviceLogin(t.Context(), connect.NewRequest(&identityv1.EndDeviceLoginRequest{Login: begun.Msg.GetLogin()}))
	}
	if _, err := end(); codeIn(err) != connect.CodeAborted {
		t.Errorf("before it is confirmed: %v", err)
	}
	oidc.NewBrowser(t, back).Confirm(t, begun.Msg.GetCompleteUrl(), begun.Msg.GetUserCode(), "ann")
	var in *connect.Response[identityv1.EndDeviceLoginResponse]
	await.Every(t, 6*time.Second, "Keycloak takes the question, of which it takes one in 5 s", func() bool {
		w.set(time.Now())
		in, err = end()
		return codeIn(err) != connect.CodeResourceExhausted
	})
	if err != nil || in.Msg.GetName() != "ann" || in.Msg.GetRole() != rights.Viewer {
		t.Errorf("by a device: %v %v", in, err)
	}
	k.Leave(t, "noc")
	w.wait(w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	if code := w.reads(ann); code != unauthenticated {
		t.Errorf("out of every group: %v", code)
	}
}

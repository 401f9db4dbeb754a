package identity

import (
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/oidc"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// A command on a host without a browser logs in once the person has confirmed its code elsewhere.
func TestLoginByADevice(t *testing.T) {
	w, p := withProvider(t, false, nil)
	p.People(t, of("noc"))
	begun, err := w.anonymous().BeginDeviceLogin(t.Context(), connect.NewRequest(&identityv1.BeginDeviceLoginRequest{}))
	if err != nil || begun.Msg.GetUserCode() == "" || begun.Msg.GetUrl() == "" || !begun.Msg.GetExpiresAt().AsTime().After(w.now()) {
		t.Fatalf("%v %v", begun, err)
	}
	end := func(login string) (caller, error) {
		r, err := w.anonymous().EndDeviceLogin(t.Context(), connect.NewRequest(&identityv1.EndDeviceLoginRequest{Login: login}))
		if err != nil {
			return caller{}, err
		}
		return cookie(r.Header()), nil
	}
	login := begun.Msg.GetLogin()
	codes := map[connect.Code]int{}
	for range 3 {
		_, err := end(login)
		codes[codeIn(err)]++
	}
	if codes[connect.CodeAborted] != 2 || codes[connect.CodeResourceExhausted] != 1 {
		t.Errorf("three questions at once before it is confirmed: %v", codes)
	}
	w.wait(time.Minute)
	oidc.NewBrowser(t, back).Confirm(t, begun.Msg.GetUrl(), begun.Msg.GetUserCode(), "s-ann")
	ann, err := end(login)
	if err != nil {
		t.Fatal(err)
	}
	if code := w.reads(ann); code != 0 {
		t.Errorf("the session: %v", code)
	}
	if _, err := end(login); codeIn(err) != unauthenticated {
		t.Errorf("a second session by the same code: %v", err)
	}
	browser, err := w.anonymous().BeginProviderLogin(t.Context(), connect.NewRequest(&identityv1.BeginProviderLoginRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	for what, bad := range map[string]string{"nothing": "", "a browser's login": browser.Msg.GetLogin(), "one that was changed": changed(login)} {
		w.wait(maxWait)
		if _, err := end(bad); codeIn(err) != unauthenticated {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Nor is the provider asked more often, however many logins strangers have begun.
func TestQuestionsOfManyDevicesAreFew(t *testing.T) {
	w, _ := withProvider(t, false, nil)
	var logins []string
	for range maxDevices {
		begun, err := w.anonymous().BeginDeviceLogin(t.Context(), connect.NewRequest(&identityv1.BeginDeviceLoginRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		logins = append(logins, begun.Msg.GetLogin())
	}
	codes := map[connect.Code]int{}
	for range 2 {
		for _, login := range logins {
			_, err := w.anonymous().EndDeviceLogin(t.Context(), connect.NewRequest(&identityv1.EndDeviceLoginRequest{Login: login}))
			codes[codeIn(err)]++
		}
	}
	if codes[connect.CodeAborted] != maxPolls || codes[connect.CodeResourceExhausted] != 2*maxDevices-maxPolls {
		t.Errorf("two questions for each of %d logins: %v", maxDevices, codes)
	}
}

// Strangers begin no more logins at the provider than people do.
func TestDeviceLoginsAreFew(t *testing.T) {
	w, _ := withProvider(t, false, nil)
	codes := map[connect.Code]int{}
	for range maxDevices + 5 {
		_, err := w.anonymous().BeginDeviceLogin(t.Context(), connect.NewRequest(&identityv1.BeginDeviceLoginRequest{}))
		codes[codeIn(err)]++
	}
	if codes[0] != maxDevices || codes[connect.CodeResourceExhausted] != 5 {
		t.Errorf("%v", codes)
	}
}

package identity

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/oidc"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	provider "github.com/millrace/millrace/services/identity/oidc"
)

// taking is where a provider sends log-outs: it keeps what was sent, and hands it to the service.
type taking struct {
	to     atomic.Value // http.Handler
	tokens chan string
}

func (k *taking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // which the handler does again
	k.to.Load().(http.Handler).ServeHTTP(w, r)
	k.tokens <- r.PostForm.Get("logout_token")
}

// withLogout is a world whose provider sends log-outs to it.
func withLogout(t *testing.T) (*world, *oidc.Provider, *taking) {
	t.Helper()
	sent := &taking{tokens: make(chan string, 10)}
	server := httptest.NewServer(sent)
	t.Cleanup(server.Close)
	w, p := withProvider(t, false, nil)
	path, handler := w.REST()
	sent.to.Store(rpc.Gate{Who: w.Who}.Wrap(LogoutCall, handler))
	p.Stop()
	p.Logout = server.URL + path
	p.Again(t)
	return w, p, sent
}

// in logs somebody in by a browser of that person's.
func (w *world) inBy(t *testing.T, b *oidc.Browser, person string) caller {
	t.Helper()
	begun, err := w.anonymous().BeginProviderLogin(t.Context(), connect.NewRequest(&identityv1.BeginProviderLoginRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := w.ends(t, answerOf(begun.Msg.GetLogin(), b.Login(t, begun.Msg.GetUrl(), person)))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// post sends a token as a provider does.
func (w *world) post(t *testing.T, token string) int {
	t.Helper()
	path, handler := w.REST()
	server := httptest.NewServer(rpc.Gate{Who: w.Who}.Wrap(LogoutCall, handler))
	defer server.Close()
	answer, err := http.PostForm(server.URL+path, url.Values{"logout_token": {token}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control is %q", answer.Header.Get("Cache-Control"))
	}
	return answer.StatusCode
}

// Who logs out at the provider in one browser is out here in it, and nowhere else. Its token counts once.
func TestTheProviderEndsASession(t *testing.T) {
	w, p, sent := withLogout(t)
	p.People(t, map[string]oidc.Person{"s-ann": {Name: "ann", Groups: []string{"noc"}}, "s-bob": {Name: "bob", Groups: []string{"noc"}}})
	w.add(t, "lou", rights.Viewer)
	desk, laptop, others := oidc.NewBrowser(t, back), oidc.NewBrowser(t, back), oidc.NewBrowser(t, back)
	atDesk, again, atLaptop, bob, lou := w.inBy(t, desk, "s-ann"), w.inBy(t, desk, "s-ann"), w.inBy(t, laptop, "s-ann"), w.inBy(t, others, "s-bob"), w.in(t, "lou")
	token, _ := w.token(t, atDesk, &identityv1.CreateTokenRequest{Name: "ci"})
	desk.Logout(t, p.Issuer)
	shown := <-sent.tokens
	for name, tt := range map[string]struct {
		c    caller
		want connect.Code
	}{
		"that session": {atDesk, unauthenticated}, "another one of that browser": {again, unauthenticated}, "a session of another browser": {atLaptop, 0},
		"somebody else": {bob, 0}, "a local person": {lou, 0}, "a token": {bearer(token), 0},
	} {
		if got := w.reads(tt.c); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	if status := w.post(t, shown); status != http.StatusBadRequest {
		t.Errorf("the same token again: %d", status)
	}
	laptop.Logout(t, p.Issuer)
	<-sent.tokens
	if got := w.reads(atLaptop); got != unauthenticated {
		t.Errorf("after the other browser's log-out: %v", got)
	}
}

// What is no logout token of this provider for this client ends nothing.
func TestLogoutTokensOfOthers(t *testing.T) {
	w, p, sent := withLogout(t)
	p.People(t, of("noc"))
	b := oidc.NewBrowser(t, back)
	ann := w.inBy(t, b, "s-ann")
	for name, token := range map[string]string{"none": "", "no token": "x.y.z", "no signature": "eyJhbGciOiJub25lIn0.e30."} {
		if status := w.post(t, token); status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		}
	}
	if _, err := w.anonymous().BackChannelLogout(t.Context(), connect.NewRequest(&identityv1.BackChannelLogoutRequest{LogoutToken: "x"})); codeIn(err) != connect.CodeInvalidArgument {
		t.Errorf("as a call: %v", err)
	}
	if got := w.reads(ann); got != 0 {
		t.Fatalf("the session: %v", got)
	}
	for range 2 * freeFailuresAddress {
		w.post(t, "x")
	}
	if status := w.post(t, "x"); status != http.StatusTooManyRequests {
		t.Errorf("after many: %d", status)
	}
	w.wait(forgetAfter)
	b.Logout(t, p.Issuer)
	<-sent.tokens
	if got := w.reads(ann); got != unauthenticated {
		t.Errorf("after the provider's own: %v", got)
	}
}

// A log-out names a person, a session, or both.
func TestWhichSessionsALogoutEnds(t *testing.T) {
	session := func(user, of string) *identityv1.SessionRecord {
		return &identityv1.SessionRecord{User: user, ProviderSession: of}
	}
	for name, tt := range map[string]struct {
		said provider.Logout
		user string
		of   *identityv1.SessionRecord
		want bool
	}{
		"all of a person":                  {provider.Logout{Subject: "s"}, "ann", session("ann", "1"), true},
		"not of another":                   {provider.Logout{Subject: "s"}, "ann", session("bob", "1"), false},
		"a subject that nobody here has":   {provider.Logout{Subject: "s"}, "", session("", ""), false},
		"one of a person":                  {provider.Logout{Subject: "s", Session: "1"}, "ann", session("ann", "1"), true},
		"not another one":                  {provider.Logout{Subject: "s", Session: "1"}, "ann", session("ann", "2"), false},
		"one that may be it":               {provider.Logout{Subject: "s", Session: "1"}, "ann", session("ann", ""), true},
		"that of another, called the same": {provider.Logout{Subject: "s", Session: "1"}, "ann", session("bob", "1"), false},
		"a session alone":                  {provider.Logout{Session: "1"}, "", session("ann", "1"), true},
		"a session of no provider":         {provider.Logout{Session: "1"}, "", session("lou", ""), false},
		"nothing":                          {provider.Logout{}, "", session("lou", ""), false},
	} {
		if got := ends(tt.said, tt.user, tt.of); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

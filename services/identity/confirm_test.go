package identity

import (
	"bytes"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/oidc"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

func of(groups ...string) map[string]oidc.Person {
	return map[string]oidc.Person{"s-ann": {Name: "ann", Groups: groups}}
}

// role is what somebody has now.
func (w *world) role(t *testing.T, c caller) rights.Role {
	t.Helper()
	r, err := w.as(c).WhoAmI(t.Context(), connect.NewRequest(&identityv1.WhoAmIRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg.GetRole()
}

// A group that disappears while somebody works takes the role with it, also that of tokens.
func TestGroupsDisappear(t *testing.T) {
	w, p := withProvider(t, false, nil)
	p.People(t, of("noc", "noc-approvers"))
	ann, _, err := w.ends(t, w.at(t, "s-ann"))
	if err != nil {
		t.Fatal(err)
	}
	token, _ := w.token(t, ann, &identityv1.CreateTokenRequest{Name: "ci"})
	p.People(t, of("noc"))
	w.confirm(t.Context()) // not due yet
	if got := w.role(t, ann); got != rights.Approver {
		t.Fatalf("before it is asked: %s", got)
	}
	w.wait(w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	if session, by := w.role(t, ann), w.role(t, bearer(token)); session != rights.Viewer || by != rights.Viewer {
		t.Errorf("without the approvers' group: %s, %s by a token", session, by)
	}
	p.People(t, of("staff"))
	w.wait(w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	if session, by := w.reads(ann), w.reads(bearer(token)); session != unauthenticated || by != unauthenticated {
		t.Errorf("without any group: %v, %v by a token", session, by)
	}
	p.People(t, of("noc"))
	if _, _, err := w.ends(t, w.at(t, "s-ann")); err != nil {
		t.Errorf("back in a group: %v", err)
	}
	if session, by := w.reads(ann), w.reads(bearer(token)); session != unauthenticated || by != 0 {
		t.Errorf("the ended session %v, the token %v", session, by)
	}
}

// Who is removed at the provider is out at the next question; who has no account there any more does not come back.
func TestPeopleAreRemovedAtTheProvider(t *testing.T) {
	w, p := withProvider(t, false, nil)
	p.People(t, of("noc"))
	ann, _, err := w.ends(t, w.at(t, "s-ann"))
	if err != nil {
		t.Fatal(err)
	}
	p.People(t, nil)
	w.wait(w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	if code := w.reads(ann); code != unauthenticated {
		t.Errorf("removed at the provider: %v", code)
	}
}

// While the provider is down people work on, but not longer than the grace.
func TestTheProviderIsDown(t *testing.T) {
	w, p := withProvider(t, false, nil)
	p.People(t, of("noc"))
	ann, _, err := w.ends(t, w.at(t, "s-ann"))
	if err != nil {
		t.Fatal(err)
	}
	waiting := w.at(t, "s-ann")
	p.Stop()
	for range freeFailures + 1 {
		if _, _, err := w.ends(t, waiting); codeIn(err) != connect.CodeUnavailable && codeIn(err) != unauthenticated {
			t.Errorf("a login: %v", err)
		}
		waiting.State = "" // it was used up
	}
	w.wait(w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	if code := w.reads(ann); code != 0 {
		t.Errorf("within the grace: %v", code)
	}
	w.wait(w.cfg.OIDC.Grace - w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	if code := w.reads(ann); code != unauthenticated {
		t.Errorf("after it: %v", code)
	}
	p.Again(t)
	w.wait(asking - w.cfg.OIDC.Grace) // the provider has the clock of the host
	if _, _, err := w.ends(t, w.at(t, "s-ann")); err != nil {
		t.Errorf("a login when it is back: %v", err)
	}
	if code := w.reads(ann); code != 0 {
		t.Errorf("the session from before, by a clock that says that it is within the grace: %v", code)
	}
}

// Keys of the provider change without anybody telling.
func TestTheProviderRotatesItsKeys(t *testing.T) {
	w, p := withProvider(t, false, nil)
	p.People(t, of("noc"))
	ann, _, err := w.ends(t, w.at(t, "s-ann"))
	if err != nil {
		t.Fatal(err)
	}
	p.Rotate(t)
	if _, _, err := w.ends(t, w.at(t, "s-ann")); err != nil {
		t.Errorf("a login under new keys: %v", err)
	}
	p.Rotate(t)
	w.wait(w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	w.wait(w.cfg.OIDC.Grace - time.Second)
	if code := w.reads(ann); code != 0 {
		t.Errorf("confirmed under new keys: %v", code)
	}
}

// Without a refresh token, a login lasts as long as nobody needs to confirm it.
func TestAProviderWithoutRefreshTokens(t *testing.T) {
	w, p := withProvider(t, false, func(c *Configuration, _ *Dependencies) { c.OIDC.Scopes = []string{"openid", "profile", "groups"} })
	p.People(t, of("noc"))
	ann, _, err := w.ends(t, w.at(t, "s-ann"))
	if err != nil {
		t.Fatal(err)
	}
	w.wait(w.cfg.OIDC.Grace - time.Second)
	w.confirm(t.Context())
	if code := w.reads(ann); code != 0 {
		t.Errorf("within the grace: %v", code)
	}
	w.wait(time.Second)
	if code := w.reads(ann); code != unauthenticated {
		t.Errorf("after it: %v", code)
	}
}

// Who has etcd or a backup has no refresh token, and a client with another secret none either.
func TestRefreshTokensAreSealed(t *testing.T) {
	w, p := withProvider(t, false, nil)
	p.People(t, of("noc"))
	ann, _, err := w.ends(t, w.at(t, "s-ann"))
	if err != nil {
		t.Fatal(err)
	}
	user := &identityv1.UserRecord{}
	revision, err := w.deps.State.Get(t.Context(), userKey("ann"), user)
	if err != nil {
		t.Fatal(err)
	}
	sealed := user.GetProvider().GetRefresh()
	plain := w.provider.Unseal(sealed, "s-ann")
	if plain == "" || w.provider.Unseal(sealed, "s-bob") != "" {
		t.Errorf("%q unsealed, and %q for somebody else", plain, w.provider.Unseal(sealed, "s-bob"))
	}
	entries, err := w.deps.State.List(t.Context(), "identity/")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if bytes.Contains(e.Value, []byte(plain)) {
			t.Errorf("%s has a refresh token", e.Key)
		}
	}
	user.Provider.Refresh = changed(sealed)
	if _, err := w.deps.State.Put(t.Context(), userKey("ann"), revision, user); err != nil {
		t.Fatal(err)
	}
	w.wait(w.cfg.OIDC.Recheck)
	w.confirm(t.Context())
	if code := w.reads(ann); code != unauthenticated {
		t.Errorf("a refresh token that cannot be read: %v", code)
	}
}

// Two replicas that confirm at once do not use one refresh token up twice, which a provider takes for theft.
func TestOneReplicaAsks(t *testing.T) {
	w, p := withProvider(t, false, nil)
	p.People(t, of("noc"))
	ann, _, err := w.ends(t, w.at(t, "s-ann"))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.wait(w.cfg.OIDC.Recheck)
		done := make(chan struct{})
		go func() { defer close(done); w.confirm(t.Context()) }()
		w.confirm(t.Context())
		<-done
	}
	if code := w.reads(ann); code != 0 {
		t.Errorf("after five rounds of two: %v", code)
	}
}

// A person of a provider that is configured no longer, or is another one now, is nobody.
func TestAnotherProviderVouchesForNobodyOfThisOne(t *testing.T) {
	w, p := withProvider(t, false, nil)
	p.People(t, of("noc"))
	ann, _, err := w.ends(t, w.at(t, "s-ann"))
	if err != nil {
		t.Fatal(err)
	}
	issuer := w.cfg.OIDC.Issuer
	w.cfg.OIDC.Issuer = issuer + "/other"
	if code := w.reads(ann); code != unauthenticated {
		t.Errorf("another provider: %v", code)
	}
	w.cfg.OIDC.Issuer = issuer
	client := w.provider
	w.provider = nil
	if code := w.reads(ann); code != unauthenticated {
		t.Errorf("no provider: %v", code)
	}
	w.provider = client
	if code := w.reads(ann); code != 0 {
		t.Errorf("and again: %v", code)
	}
}

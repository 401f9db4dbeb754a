package identity

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/oidc"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	provider "github.com/millrace/millrace/services/identity/oidc"
)

const back = "http://127.0.0.1:8080/"

// withProvider is a world whose people come from a real provider.
func withProvider(t *testing.T, userinfo bool, change func(*Configuration, *Dependencies)) (*world, *oidc.Provider) {
	t.Helper()
	p := oidc.Start(t, back, userinfo)
	w := start(t, func(c *Configuration, d *Dependencies) {
		c.URL = "http://127.0.0.1:8080"
		c.OIDC.Issuer, c.OIDC.ClientID, c.OIDC.ClientSecretFile = p.Issuer, p.Client, p.SecretFile
		c.OIDC.Scopes = []string{"openid", "profile", "groups", "offline_access"}
		c.OIDC.Roles = map[string]string{"noc": "viewer", "noc-approvers": "approver"}
		if change != nil {
			change(c, d)
		}
	})
	w.set(time.Now()) // the provider's is the host's
	return w, p
}

// at is what a browser comes back with from the provider.
func (w *world) at(t *testing.T, person string) *identityv1.EndProviderLoginRequest {
	t.Helper()
	begun, err := w.anonymous().BeginProviderLogin(t.Context(), connect.NewRequest(&identityv1.BeginProviderLoginRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return answerOf(begun.Msg.GetLogin(), oidc.NewBrowser(t, back).Login(t, begun.Msg.GetUrl(), person))
}

func answerOf(login string, q url.Values) *identityv1.EndProviderLoginRequest {
	return &identityv1.EndProviderLoginRequest{
		Login: login, Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss"), Error: q.Get("error"), ErrorDescription: q.Get("error_description"),
	}
}

func (w *world) ends(t *testing.T, q *identityv1.EndProviderLoginRequest) (caller, *identityv1.EndProviderLoginResponse, error) {
	t.Helper()
	r, err := w.anonymous().EndProviderLogin(t.Context(), connect.NewRequest(q))
	if err != nil {
		return caller{}, nil, err
	}
	return cookie(r.Header()), r.Msg, nil
}

// Name and role are the provider's, wherever it says them.
func TestLoginByAProvider(t *testing.T) {
	for name, userinfo := range map[string]bool{"groups in the id_token": false, "groups at the userinfo endpoint": true} {
		t.Run(name, func(t *testing.T) {
			w, p := withProvider(t, userinfo, nil)
			p.People(t, map[string]oidc.Person{"s-ann": {Name: "ann", Groups: []string{"staff", "noc", "noc-approvers"}}, "s-eve": {Name: "eve", Groups: []string{"staff"}}})
			ann, said, err := w.ends(t, w.at(t, "s-ann"))
			if err != nil || said.GetName() != "ann" || said.GetRole() != rights.Approver {
				t.Fatalf("%v %v", said, err)
			}
			if code := w.reads(ann); code != 0 {
				t.Errorf("the session: %v", code)
			}
			if _, _, err := w.ends(t, w.at(t, "s-eve")); codeIn(err) != denied {
				t.Errorf("somebody without a group that has a role: %v", err)
			}
			users, err := w.as(w.admin(t)).ListUsers(t.Context(), connect.NewRequest(&identityv1.ListUsersRequest{}))
			if err != nil || len(users.Msg.GetUsers()) != 2 || users.Msg.GetUsers()[1].GetIssuer() != p.Issuer {
				t.Errorf("%v %v", users, err)
			}
		})
	}
}

// One answer of the provider begins one session, from any browser, and however often it comes.
func TestAnAnswerOfTheProviderCountsOnce(t *testing.T) {
	w, p := withProvider(t, false, nil)
	p.People(t, map[string]oidc.Person{"s-ann": {Name: "ann", Groups: []string{"noc"}}, "s-bob": {Name: "bob", Groups: []string{"noc"}}})
	answer := w.at(t, "s-ann")
	var browsers sync.WaitGroup
	var mu sync.Mutex
	codes := map[connect.Code]int{}
	for range 8 {
		browsers.Go(func() {
			_, err := w.anonymous().EndProviderLogin(context.Background(), connect.NewRequest(answer))
			mu.Lock()
			defer mu.Unlock()
			codes[codeIn(err)]++
		})
	}
	browsers.Wait()
	if codes[0] != 1 {
		t.Errorf("8 brought one answer: %v, want one success", codes)
	}
	w.wait(maxWait) // of the failed attempts
	w.clean(t.Context())
	if _, _, err := w.ends(t, answer); codeIn(err) != unauthenticated {
		t.Errorf("after a while: %v", err)
	}
}

// What does not belong together, or comes too late, logs nobody in.
func TestAnswersOfOtherLogins(t *testing.T) {
	w, p := withProvider(t, false, nil)
	p.People(t, map[string]oidc.Person{"s-ann": {Name: "ann", Groups: []string{"noc"}}, "s-bob": {Name: "bob", Groups: []string{"noc"}}})
	for name, spoil := range map[string]func(mine, other *identityv1.EndProviderLoginRequest){
		"another's code and state":        func(m, o *identityv1.EndProviderLoginRequest) { m.Code, m.State = o.Code, o.State },
		"another's code":                  func(m, o *identityv1.EndProviderLoginRequest) { m.Code = o.Code },
		"another's login":                 func(m, o *identityv1.EndProviderLoginRequest) { m.Login = o.Login },
		"no login, as a link from a site": func(m, _ *identityv1.EndProviderLoginRequest) { m.Login = "" },
		"no state":                        func(m, _ *identityv1.EndProviderLoginRequest) { m.State = "" },
		"no code":                         func(m, _ *identityv1.EndProviderLoginRequest) { m.Code = "" },
		"a code that is none":             func(m, _ *identityv1.EndProviderLoginRequest) { m.Code = "x" },
		"a login that was changed":        func(m, _ *identityv1.EndProviderLoginRequest) { m.Login = changed(m.Login) },
		"another issuer":                  func(m, _ *identityv1.EndProviderLoginRequest) { m.Iss = "https://evil.example" },
		"no issuer, which it always says": func(m, _ *identityv1.EndProviderLoginRequest) { m.Iss = "" },
		"a refusal of the provider": func(m, _ *identityv1.EndProviderLoginRequest) {
			m.Code, m.Error, m.ErrorDescription = "", "access_denied", "no\x1b[31m"
		},
		"too late": func(*identityv1.EndProviderLoginRequest, *identityv1.EndProviderLoginRequest) { w.wait(provider.Life) },
		"":         func(*identityv1.EndProviderLoginRequest, *identityv1.EndProviderLoginRequest) {},
	} {
		w.attempts = newAttempts()
		w.set(time.Now())
		mine, other := w.at(t, "s-ann"), w.at(t, "s-bob")
		spoil(mine, other)
		_, said, err := w.ends(t, mine)
		if name == "" && err != nil {
			t.Errorf("what belongs together: %v", err)
		} else if name != "" && (codeIn(err) != unauthenticated || strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%s: %v %v", name, said, err)
		}
	}
}

// The subject is the person; a name belongs to who had it first.
func TestNamesOfTheProvider(t *testing.T) {
	w, p := withProvider(t, false, nil)
	w.add(t, "lou", rights.Viewer)
	people := func(names map[string]string) {
		all := map[string]oidc.Person{}
		for subject, name := range names {
			all[subject] = oidc.Person{Name: name, Groups: []string{"noc"}}
		}
		p.People(t, all)
	}
	people(map[string]string{"s-1": "ann", "s-2": "lou", "s-3": firstAdmin, "s-4": "../ann", "s-5": ""})
	if _, said, err := w.ends(t, w.at(t, "s-1")); err != nil || said.GetName() != "ann" {
		t.Fatalf("%v %v", said, err)
	}
	for subject, whose := range map[string]string{"s-2": "of a local person", "s-3": "of the login link", "s-4": "that is a path"} {
		if _, said, err := w.ends(t, w.at(t, subject)); codeIn(err) != denied {
			t.Errorf("a name %s: %v %v", whose, said, err)
		}
	}
	if _, said, err := w.ends(t, w.at(t, "s-5")); codeIn(err) != unauthenticated {
		t.Errorf("no name: %v %v", said, err)
	}
	people(map[string]string{"s-1": "anne", "s-6": "ann"})
	if _, said, err := w.ends(t, w.at(t, "s-1")); err != nil || said.GetName() != "ann" {
		t.Errorf("who has another name at the provider now: %v %v", said, err)
	}
	if _, said, err := w.ends(t, w.at(t, "s-6")); codeIn(err) != denied {
		t.Errorf("somebody else with that name: %v %v", said, err)
	}
	admin := w.as(w.admin(t))
	for what, err := range map[string]error{
		"a role":     second(admin.PutUser(t.Context(), connect.NewRequest(&identityv1.PutUserRequest{Name: "ann", Role: rights.Admin}))),
		"a password": second(admin.SetPassword(t.Context(), connect.NewRequest(&identityv1.SetPasswordRequest{Name: "ann", New: password}))),
	} {
		if codeIn(err) != connect.CodeFailedPrecondition {
			t.Errorf("%s for a person of the provider: %v", what, err)
		}
	}
	if _, err := admin.DeleteUser(t.Context(), connect.NewRequest(&identityv1.DeleteUserRequest{Name: "ann"})); err != nil {
		t.Fatal(err)
	}
	if _, said, err := w.ends(t, w.at(t, "s-6")); err != nil || said.GetName() != "ann" {
		t.Errorf("after the first was removed: %v %v", said, err)
	}
}

func second[T any](_ T, err error) error { return err }

// An address is that of many people: that some come back too late, or say no at the provider, delays nobody else.
func TestManyLogInAtOneAddress(t *testing.T) {
	w, m := withMoody(t)
	for range freeFailures + 1 {
		if _, _, err := w.ends(t, &identityv1.EndProviderLoginRequest{Login: "too late", State: "s", Error: "access_denied"}); codeIn(err) != unauthenticated {
			t.Errorf("somebody who comes back too late: %v", err)
		}
	}
	m.in(t, w, "ann")
	for range freeFailures {
		if _, err := w.login("no such name!", password); codeIn(err) != unauthenticated {
			t.Errorf("a name that is none: %v", err)
		}
	}
	m.in(t, w, "bob")
	delayed := false
	for range freeFailuresAddress + 1 {
		_, _, err := w.ends(t, &identityv1.EndProviderLoginRequest{Login: "x"})
		delayed = delayed || codeIn(err) == connect.CodeResourceExhausted
	}
	if !delayed {
		t.Error("an address that fails again and again is not delayed")
	}
}

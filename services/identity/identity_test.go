package identity

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
)

const unauthenticated, denied = connect.CodeUnauthenticated, connect.CodePermissionDenied

// A link is used up by the first of those who use it at once.
func TestALoginLinkWorksOnce(t *testing.T) {
	w := start(t, nil)
	code, err := w.LoginLink(t.Context(), true)
	if err != nil || code == "" {
		t.Fatal(code, err)
	}
	var users sync.WaitGroup
	var mu sync.Mutex
	codes := map[connect.Code]int{}
	for range 8 {
		users.Go(func() {
			_, err := w.anonymous().Redeem(context.Background(), connect.NewRequest(&identityv1.RedeemRequest{Code: code}))
			mu.Lock()
			defer mu.Unlock()
			codes[codeIn(err)]++
		})
	}
	users.Wait()
	if codes[0] != 1 || codes[unauthenticated] != 7 {
		t.Errorf("8 used one link: %v, want one success", codes)
	}
	if again, err := w.LoginLink(t.Context(), true); err != nil || again != "" {
		t.Errorf("somebody is known, and the next start prints another link (%v)", err)
	}
	late, err := w.LoginLink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	w.wait(w.Lifetime())
	for _, bad := range []string{late, "", "mrl_", late + "a", strings.Replace(late, linkKind, tokenKind, 1), "mrl_../../users/ad_aaaaaaaaaaaaaaaaaaaaaaaaaa"} {
		if _, err := w.anonymous().Redeem(t.Context(), connect.NewRequest(&identityv1.RedeemRequest{Code: bad})); codeIn(err) != unauthenticated {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	w := start(t, nil)
	w.add(t, "ann", rights.Operator)
	for name, end := range map[string]func(caller){
		"by their time": func(caller) { w.wait(w.cfg.Session) },
		"by a log-out": func(c caller) {
			r, err := w.as(c).Logout(t.Context(), connect.NewRequest(&identityv1.LogoutRequest{}))
			if err != nil || r.Msg.GetEnded() != 1 || !strings.Contains(r.Header().Get("Set-Cookie"), "Max-Age=0") {
				t.Errorf("%v %v", r, err)
			}
		},
		"by a log-out everywhere": func(caller) {
			if r, err := w.as(w.in(t, "ann")).Logout(t.Context(), connect.NewRequest(&identityv1.LogoutRequest{Everywhere: true})); err != nil || r.Msg.GetEnded() < 2 {
				t.Errorf("%v %v", r, err)
			}
		},
		"by another password": func(caller) {
			if _, err := w.as(w.admin(t)).SetPassword(t.Context(), connect.NewRequest(&identityv1.SetPasswordRequest{Name: "ann", New: password})); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			mine := w.in(t, "ann")
			if code := w.reads(mine); code != 0 {
				t.Fatalf("before: %v", code)
			}
			end(mine)
			if code := w.reads(mine); code != unauthenticated {
				t.Errorf("after: %v", code)
			}
		})
	}
}

// What is shown in the place of a login, and is none.
func TestBadCredentials(t *testing.T) {
	w := start(t, nil)
	w.add(t, "ann", rights.Admin)
	ann := w.in(t, "ann")
	good, id := w.token(t, ann, &identityv1.CreateTokenRequest{Name: "one"})
	other, _ := w.token(t, ann, &identityv1.CreateTokenRequest{Name: "two"})
	session := strings.TrimPrefix(ann.value, "millrace=")
	if w.reads(bearer(good)) != 0 || w.reads(ann) != 0 {
		t.Fatal("good credentials are refused")
	}
	for name, c := range map[string]caller{
		"nothing":                            {},
		"an empty header":                    {"Authorization", ""},
		"another scheme":                     {"Authorization", "Basic " + good},
		"the scheme alone":                   bearer(""),
		"the id of one, the secret of other": bearer(good[:17] + other[17:]),
		"one letter is another":              bearer(good[:len(good)-1] + string('a'+(good[len(good)-1]-'a'+1)%26)),
		"a token that never was":             bearer(newSecret(tokenKind).text()),
		"an id that is a path":               bearer("mrt_../users/a_" + strings.Repeat("a", 26)),
		"a session as a token":               bearer(session),
		"a token as a session":               {"Cookie", "millrace=" + good},
		"two tokens":                         bearer(good + " " + good),
		"capitals":                           bearer(strings.ToUpper(good)),
		"a megabyte":                         bearer(strings.Repeat("a", 100_000)),
	} {
		if code := w.reads(c); code != unauthenticated {
			t.Errorf("%s: %v", name, code)
		}
	}
	if _, err := w.as(ann).RevokeToken(t.Context(), connect.NewRequest(&identityv1.RevokeTokenRequest{Id: id})); err != nil {
		t.Fatal(err)
	}
	if code := w.reads(bearer(good)); code != unauthenticated {
		t.Errorf("a revoked token: %v", code)
	}
}

// Expiry is by the clock of the control plane; a clock that is put back brings no token back that was deleted.
func TestTokensExpire(t *testing.T) {
	w := start(t, nil)
	w.add(t, "ann", rights.Admin)
	token, _ := w.token(t, w.in(t, "ann"), &identityv1.CreateTokenRequest{Name: "short", ExpiresAt: timestamppb.New(w.now().Add(time.Hour))})
	w.wait(time.Hour - time.Nanosecond)
	if code := w.reads(bearer(token)); code != 0 {
		t.Errorf("a moment before: %v", code)
	}
	w.wait(time.Nanosecond)
	if code := w.reads(bearer(token)); code != unauthenticated {
		t.Errorf("at its end: %v", code)
	}
	w.wait(5 * time.Minute)
	w.clean(t.Context())
	w.wait(-10 * time.Minute)
	if code := w.reads(bearer(token)); code != unauthenticated {
		t.Errorf("after the clock was put back: %v", code)
	}
}

// What a person loses, the sessions and tokens lose with the next request.
func TestRolesAreThoseOfNow(t *testing.T) {
	w := start(t, nil)
	w.add(t, "ann", rights.Admin)
	admin, ann := w.as(w.admin(t)), w.in(t, "ann")
	token, _ := w.token(t, ann, &identityv1.CreateTokenRequest{Name: "ci"})
	lists := func(c caller) connect.Code {
		_, err := w.as(c).ListUsers(t.Context(), connect.NewRequest(&identityv1.ListUsersRequest{}))
		return codeIn(err)
	}
	if lists(ann) != 0 || lists(bearer(token)) != 0 {
		t.Fatal("an admin may not list people")
	}
	if _, err := admin.PutUser(t.Context(), connect.NewRequest(&identityv1.PutUserRequest{Name: "ann", Role: rights.Viewer})); err != nil {
		t.Fatal(err)
	}
	if lists(ann) != denied || lists(bearer(token)) != denied || w.reads(bearer(token)) != 0 {
		t.Errorf("a viewer: %v %v %v", lists(ann), lists(bearer(token)), w.reads(bearer(token)))
	}
	if _, err := admin.DeleteUser(t.Context(), connect.NewRequest(&identityv1.DeleteUserRequest{Name: "ann"})); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.PutUser(t.Context(), connect.NewRequest(&identityv1.PutUserRequest{Name: "ann", Role: rights.Admin})); err != nil {
		t.Fatal(err)
	}
	if w.reads(ann) != unauthenticated || w.reads(bearer(token)) != unauthenticated {
		t.Error("a namesake that was added later has the sessions and tokens of the one before")
	}
}

// A token gives nothing that its maker does not have.
func TestTokensAreBounded(t *testing.T) {
	w := start(t, nil)
	w.add(t, "ann", rights.Operator)
	ann := w.in(t, "ann")
	for name, tt := range map[string]struct {
		q    *identityv1.CreateTokenRequest
		want connect.Code
	}{
		"more than one's role":   {&identityv1.CreateTokenRequest{Name: "x", Role: rights.Approver}, denied},
		"a role of services":     {&identityv1.CreateTokenRequest{Name: "x", Role: rights.Service}, connect.CodeInvalidArgument},
		"no name":                {&identityv1.CreateTokenRequest{}, connect.CodeInvalidArgument},
		"an API that is not":     {&identityv1.CreateTokenRequest{Name: "x", Apis: []string{"circuit"}}, connect.CodeInvalidArgument},
		"expired":                {&identityv1.CreateTokenRequest{Name: "x", ExpiresAt: timestamppb.New(w.now())}, connect.CodeInvalidArgument},
		"for ever":               {&identityv1.CreateTokenRequest{Name: "x", ExpiresAt: timestamppb.New(w.now().AddDate(9, 0, 0))}, connect.CodeInvalidArgument},
		"with less than is ones": {&identityv1.CreateTokenRequest{Name: "x", Role: rights.Viewer}, 0},
	} {
		if _, err := w.as(ann).CreateToken(t.Context(), connect.NewRequest(tt.q)); codeIn(err) != tt.want {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

func TestNobodyIsLeftWithoutAnAdmin(t *testing.T) {
	w := start(t, nil)
	w.add(t, "ann", rights.Approver)
	admin := w.as(w.admin(t))
	_, lower := admin.PutUser(t.Context(), connect.NewRequest(&identityv1.PutUserRequest{Name: firstAdmin, Role: rights.Viewer}))
	_, gone := admin.DeleteUser(t.Context(), connect.NewRequest(&identityv1.DeleteUserRequest{Name: firstAdmin}))
	if codeIn(lower) != connect.CodeFailedPrecondition || codeIn(gone) != connect.CodeFailedPrecondition {
		t.Errorf("the last admin: %v, %v", lower, gone)
	}
	for _, bad := range []string{"", "a/b", "../x", ".hidden", strings.Repeat("a", 65), "a b", "ann\n"} {
		if _, err := admin.PutUser(t.Context(), connect.NewRequest(&identityv1.PutUserRequest{Name: bad, Role: rights.Viewer})); codeIn(err) != connect.CodeInvalidArgument {
			t.Errorf("a person called %q: %v", bad, err)
		}
	}
}

// Where the login link was never used, the only admin is one of the provider, who adds, demotes and removes people.
func TestAnAdminOfTheProviderManagesPeople(t *testing.T) {
	w := start(t, nil)
	ctx := rights.With(t.Context(), rights.Caller{Name: "eve", Role: rights.Admin, Session: true})
	api := &api{w.Component}
	for _, role := range []rights.Role{rights.Operator, rights.Viewer} {
		if _, err := api.PutUser(ctx, connect.NewRequest(&identityv1.PutUserRequest{Name: "bob", Role: role})); err != nil {
			t.Errorf("bob as %s: %v", rights.Name(role), err)
		}
	}
	if _, err := api.DeleteUser(ctx, connect.NewRequest(&identityv1.DeleteUserRequest{Name: "bob"})); err != nil {
		t.Error("removal of bob: ", err)
	}
}

// Two admins who remove each other at once: the second finds that nobody else is admin any more.
func TestTwoAdminsDoNotRemoveEachOther(t *testing.T) {
	for name, remove := range map[string]func(identityv1connect.IdentityServiceClient) error{
		"lowered": func(c identityv1connect.IdentityServiceClient) error {
			_, err := c.PutUser(t.Context(), connect.NewRequest(&identityv1.PutUserRequest{Name: "ann", Role: rights.Viewer}))
			return err
		},
		"deleted": func(c identityv1connect.IdentityServiceClient) error {
			_, err := c.DeleteUser(t.Context(), connect.NewRequest(&identityv1.DeleteUserRequest{Name: "ann"}))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var plain *state.Store
			var meanwhile atomic.Bool
			w := start(t, func(_ *Configuration, d *Dependencies) {
				plain = d.State
				d.State = plain.WithFaults(func(key string, value []byte) state.Fault {
					if key == userKey("ann") && value == nil && meanwhile.CompareAndSwap(true, false) {
						if err := plain.Apply(t.Context(), state.Op{Key: userKey(firstAdmin), Value: &identityv1.UserRecord{Name: firstAdmin, Role: rights.Viewer}}); err != nil {
							t.Error(err)
						}
					}
					return state.None
				})
			})
			w.add(t, "ann", rights.Admin)
			admin := w.as(w.admin(t))
			meanwhile.Store(true)
			if err := remove(admin); codeIn(err) != connect.CodeAborted {
				t.Errorf("the admin who was lowered meanwhile removes the other one: %v", err)
			}
			ann := &identityv1.UserRecord{}
			if _, err := plain.Get(t.Context(), userKey("ann"), ann); err != nil || ann.GetRole() != rights.Admin {
				t.Errorf("ann is %v, %v", ann.GetRole(), err)
			}
		})
	}
}

// The wait grows with the failures of a name at an address, and right passwords wait, too.
func TestGuessesAreDelayed(t *testing.T) {
	w := start(t, nil)
	w.add(t, "ann", rights.Viewer)
	for range freeFailures {
		if _, err := w.login("ann", "wrong horse battery"); codeIn(err) != unauthenticated {
			t.Fatal(err)
		}
	}
	if _, err := w.login("ann", password); codeIn(err) != connect.CodeResourceExhausted {
		t.Errorf("at once: %v", err)
	}
	if _, err := w.login("nobody", password); codeIn(err) != unauthenticated {
		t.Errorf("another name waits with it: %v", err)
	}
	w.wait(time.Second)
	if _, err := w.login("ann", password); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

func TestOneLoginMakesSoManyRequests(t *testing.T) {
	w := start(t, func(c *Configuration, _ *Dependencies) { c.Rate = 2 })
	admin := w.admin(t)
	codes := map[connect.Code]int{}
	for range 6 {
		codes[w.reads(admin)]++
	}
	if codes[0] != 4 || codes[connect.CodeResourceExhausted] != 2 {
		t.Errorf("6 requests at once of 2 per second: %v", codes)
	}
	w.wait(time.Second)
	if code := w.reads(admin); code != 0 {
		t.Errorf("a second later: %v", code)
	}
}

// Who cannot be looked up is not let in, and not taken for somebody without a login either.
func TestEtcdIsAway(t *testing.T) {
	var broken atomic.Bool
	w := start(t, func(_ *Configuration, d *Dependencies) {
		d.State = d.State.WithFaults(func(string, []byte) state.Fault {
			if broken.Load() {
				return state.Refused
			}
			return 0
		})
	})
	admin := w.admin(t)
	broken.Store(true)
	if code := w.reads(admin); code != connect.CodeUnavailable {
		t.Errorf("got %v", code)
	}
	if _, err := w.as(admin).WhoAmI(t.Context(), connect.NewRequest(&identityv1.WhoAmIRequest{})); codeIn(err) != connect.CodeUnavailable {
		t.Errorf("who that is: %v", err)
	}
	if _, err := w.login("ann", password); codeIn(err) != connect.CodeUnavailable {
		t.Errorf("a login: %v", err)
	}
}

func TestTheCookie(t *testing.T) {
	for url, want := range map[string]struct {
		name   string
		secure bool
	}{"": {"millrace", false}, "http://noc.example.net": {"millrace", false}, "https://noc.example.net": {"__Host-millrace", true}} {
		c := &Component{cfg: Configuration{URL: url}}
		got := c.cookie("x", time.Unix(2_000_000_000, 0))
		if got.Name != want.name || got.Secure != want.secure || !got.HttpOnly || got.SameSite != http.SameSiteStrictMode || got.Path != "/" || got.Domain != "" {
			t.Errorf("%q: %+v", url, got)
		}
	}
}

func TestPasswords(t *testing.T) {
	w := start(t, nil)
	w.cost = memoryConstrained
	stored, err := w.hashPassword(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stored, "$argon2id$v=19$m=65536,t=3,p=4$") || strings.Contains(stored, password) {
		t.Errorf("stored as %s", stored)
	}
	for name, tt := range map[string]struct {
		stored, shown string
		want          bool
	}{
		"the same":              {stored, password, true},
		"another":               {stored, password + "!", false},
		"nothing":               {stored, "", false},
		"of nobody":             {"", "", false},
		"other parameters":      {strings.Replace(stored, "t=3", "t=1", 1), password, false},
		"half a record":         {stored[:len(stored)-4], password, false},
		"no record at all":      {"plain", "plain", false},
		"longer than any there": {stored, strings.Repeat("a", 2000), false},
	} {
		if got, err := w.passwordIs(t.Context(), tt.stored, tt.shown); err != nil || got != tt.want {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "short", strings.Repeat("a", maxPassword+1)} {
		if checkPassword(bad) == nil {
			t.Errorf("a password of %d is taken", len(bad))
		}
	}
}

func TestLoginsThatAreOff(t *testing.T) {
	w := start(t, func(c *Configuration, d *Dependencies) { c.Mode, d.State = ModeOff, nil })
	c := &api{w.Component}
	who, err := c.WhoAmI(t.Context(), connect.NewRequest(&identityv1.WhoAmIRequest{}))
	if err != nil || who.Msg.GetLoginNeeded() || who.Msg.GetName() != "" {
		t.Errorf("%v %v", who, err)
	}
	if _, err := c.ListUsers(t.Context(), connect.NewRequest(&identityv1.ListUsersRequest{})); !errors.Is(err, errOff) {
		t.Errorf("people: %v", err)
	}
	if _, err := c.Login(t.Context(), connect.NewRequest(&identityv1.LoginRequest{Name: "ann", Password: password})); codeIn(err) != connect.CodeFailedPrecondition {
		t.Errorf("a login: %v", err)
	}
}

func TestConfigurationSaysWhatToWrite(t *testing.T) {
	for name, spoil := range map[string]func(*Configuration){
		"a mode that is neither":    func(c *Configuration) { c.Mode = "true" },
		"sessions that end at once": func(c *Configuration) { c.Session = 0 },
		"no requests":               func(c *Configuration) { c.Rate = 0 },
		"a URL without a scheme":    func(c *Configuration) { c.URL = "noc.example.net" },
	} {
		cfg := DefaultConfiguration()
		spoil(&cfg)
		if _, err := New(cfg, Dependencies{}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

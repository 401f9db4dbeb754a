package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/millrace/millrace/internal/state"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// moody is a provider whose userinfo endpoint fails for whom a test says. A refresh token of it can be used once; a
// second use is theft, after which it vouches no more.
type moody struct {
	*httptest.Server
	keys *oidctest.Server
	key  *ecdsa.PrivateKey
	now  func() time.Time

	mu     sync.Mutex
	nonces map[string]string
	// refresh is the one refresh token of a subject, fails who has no userinfo, asked how often somebody was refreshed.
	refresh map[string]string
	fails   map[string]bool
	asked   map[string]int
}

func withMoody(t *testing.T) (*world, *moody) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	m := &moody{
		key: key, keys: &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: "ES256"}}},
		nonces: map[string]string{}, refresh: map[string]string{}, fails: map[string]bool{}, asked: map[string]int{},
	}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	m.keys.SetIssuer(m.URL)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret of the client\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *Configuration, _ *Dependencies) {
		c.URL, c.OIDC.Issuer, c.OIDC.ClientID, c.OIDC.ClientSecretFile = "http://127.0.0.1:8080", m.URL, "millrace", secret
		c.OIDC.Roles = map[string]string{"noc": "viewer"}
	})
	m.now = w.now
	return w, m
}

func (m *moody) serve(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	say := func(status int, what map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(what) // the client left
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		say(http.StatusOK, map[string]any{
			"issuer": m.URL, "authorization_endpoint": m.URL + "/auth", "token_endpoint": m.URL + "/token", "jwks_uri": m.URL + "/keys", "userinfo_endpoint": m.URL + "/info",
		})
	case "/token":
		say(m.token(r))
	case "/info":
		who := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if m.fails[who] {
			say(http.StatusServiceUnavailable, nil)
			return
		}
		say(http.StatusOK, map[string]any{"sub": who, "preferred_username": who, "groups": []string{"noc"}})
	default:
		m.keys.ServeHTTP(w, r)
	}
}

// token takes a subject as the code.
func (m *moody) token(r *http.Request) (int, map[string]any) {
	who, shown := r.FormValue("code"), r.FormValue("refresh_token")
	if who == "" {
		who, _, _ = strings.Cut(shown, "/")
		m.asked[who]++
		if m.refresh[who] != shown {
			m.refresh[who] = ""
			return http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
		}
	}
	m.refresh[who] = fmt.Sprint(who, "/", rand.Text())
	now := m.now()
	claims, _ := json.Marshal(map[string]any{ // of texts and numbers
		"iss": m.URL, "sub": who, "aud": "millrace", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "nonce": m.nonces[who],
	})
	return http.StatusOK, map[string]any{
		"access_token": who, "token_type": "Bearer", "refresh_token": m.refresh[who], "id_token": oidctest.SignIDToken(m.key, "k", "ES256", string(claims)),
	}
}

func (m *moody) fail(who string, fails bool) { m.mu.Lock(); defer m.mu.Unlock(); m.fails[who] = fails }

// forget makes a refresh token worth nothing.
func (m *moody) forget(who string) { m.mu.Lock(); defer m.mu.Unlock(); m.refresh[who] = "" }

func (m *moody) askedFor(who string) int { m.mu.Lock(); defer m.mu.Unlock(); return m.asked[who] }

// in logs somebody in there.
func (m *moody) in(t *testing.T, w *world, who string) caller {
	t.Helper()
	begun, err := w.anonymous().BeginProviderLogin(t.Context(), connect.NewRequest(&identityv1.BeginProviderLoginRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(begun.Msg.GetUrl())
	if err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	m.nonces[who] = to.Query().Get("nonce")
	m.mu.Unlock()
	c, _, err := w.ends(t, &identityv1.EndProviderLoginRequest{Login: begun.Msg.GetLogin(), Code: who, State: to.Query().Get("state")})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// confirms waits for the next rounds of confirmations, and runs them.
func (w *world) confirms(t *testing.T, during time.Duration) {
	t.Helper()
	for until := w.now().Add(during); w.now().Before(until); {
		w.wait(confirmEvery)
		w.confirm(t.Context())
	}
}

// A refresh token is used up by the question, also by one whose answer was not whole: the one that came for it is kept.
func TestAHalfAnswerDoesNotEndALogin(t *testing.T) {
	w, m := withMoody(t)
	ann := m.in(t, w, "ann")
	m.fail("ann", true)
	w.confirms(t, w.cfg.OIDC.Recheck+2*asking)
	if got := m.askedFor("ann"); got < 2 {
		t.Fatalf("asked for %d times while userinfo fails", got)
	}
	m.fail("ann", false)
	w.confirms(t, w.cfg.OIDC.Grace)
	if code := w.reads(ann); code != 0 {
		t.Errorf("a while after userinfo failed: %v", code)
	}
}

// Those whom the provider fails to answer for do not keep it from being asked for the others.
func TestSomeWhoFailDoNotEndTheLoginsOfOthers(t *testing.T) {
	w, m := withMoody(t)
	bob := m.in(t, w, "bob")
	for i := range 6 {
		who := fmt.Sprint("a", i)
		m.in(t, w, who)
		m.fail(who, true)
	}
	w.confirms(t, w.cfg.OIDC.Grace+w.cfg.OIDC.Recheck)
	if code := w.reads(bob); code != 0 {
		t.Errorf("bob is confirmed no more: %v, asked for %d times", code, m.askedFor("bob"))
	}
}

// Who has logged out is asked for no more, and has no refresh token here; who has a token only is.
func TestNobodyIsAskedForAfterTheLogOut(t *testing.T) {
	w, m := withMoody(t)
	ann, bob := m.in(t, w, "ann"), m.in(t, w, "bob")
	secret, _ := w.token(t, bob, &identityv1.CreateTokenRequest{Name: "ci"})
	for _, c := range []caller{ann, bob} {
		if _, err := w.as(c).Logout(t.Context(), connect.NewRequest(&identityv1.LogoutRequest{})); err != nil {
			t.Fatal(err)
		}
	}
	w.confirms(t, 2*w.cfg.OIDC.Grace)
	if got := m.askedFor("ann"); got != 0 {
		t.Errorf("ann, who logged out, was asked for %d times", got)
	}
	user := &identityv1.UserRecord{}
	if _, err := w.deps.State.Get(t.Context(), userKey("ann"), user); err != nil || user.GetProvider().GetRefresh() != "" {
		t.Errorf("%v %v", user, err)
	}
	if code := w.reads(bearer(secret)); code != 0 {
		t.Errorf("bob's token: %v", code)
	}
	m.in(t, w, "ann")
	w.confirms(t, w.cfg.OIDC.Recheck)
	if m.askedFor("ann") == 0 {
		t.Error("ann is not asked for after the next login")
	}
}

// A login that was over does not come back with another one of its person; a token does.
func TestALoginThatWasOverStaysOver(t *testing.T) {
	for name, end := range map[string]func(*world, *moody){
		"the grace has passed": func(w *world, _ *moody) { w.wait(w.cfg.OIDC.Grace) },
		"the provider ended it, and the sessions could not be deleted": func(w *world, m *moody) {
			m.forget("ann")
			away := w.deps.State
			w.deps.State = away.WithFaults(func(key string, value []byte) state.Fault {
				if value == nil && strings.HasPrefix(key, sessionsPrefix) && w.ended(t, away) {
					return state.Refused
				}
				return state.None
			})
			w.wait(w.cfg.OIDC.Recheck)
			w.confirm(t.Context())
			w.deps.State = away
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, m := withMoody(t)
			kiosk := m.in(t, w, "ann")
			token, _ := w.token(t, kiosk, &identityv1.CreateTokenRequest{Name: "ci"})
			end(w, m)
			if code := w.reads(kiosk); code != unauthenticated {
				t.Fatalf("it is not over: %v", code)
			}
			home := m.in(t, w, "ann")
			office := m.in(t, w, "ann")
			for where, c := range map[string]caller{"the kiosk": kiosk, "home": home, "the office": office, "the token": bearer(token)} {
				want := connect.Code(0)
				if c == kiosk {
					want = unauthenticated
				}
				if code := w.reads(c); code != want {
					t.Errorf("%s: %v, want %v", where, code, want)
				}
			}
		})
	}
}

// ended reports whether it is recorded that the provider ended ann's login.
func (w *world) ended(t *testing.T, s *state.Store) bool {
	t.Helper()
	user := &identityv1.UserRecord{}
	if _, err := s.Get(t.Context(), userKey("ann"), user); err != nil {
		t.Fatal(err)
	}
	return user.GetProvider().GetConfirmedAt() == nil
}

package oidc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// liar is a provider that a test makes lie: a real one answers well.
type liar struct {
	*httptest.Server
	keys   *oidctest.Server
	key    *ecdsa.PrivateKey
	answer func(claims map[string]any) (status int, body map[string]any)
	info   map[string]any
	// nonce is that of the login that began last; discovered counts the requests for the discovery document.
	nonce      string
	discovered int
	down       bool
	// broken is a path that answers 502, with a long body.
	broken string
	config map[string]any
}

const clientSecret = "a secret of the client"

func newLiar(t *testing.T) (*liar, *Client) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{key: key, keys: &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: "ES256"}}}}
	l.Server = httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(l.Close)
	l.keys.SetIssuer(l.URL)
	l.config = map[string]any{
		"issuer": l.URL, "authorization_endpoint": l.URL + "/auth", "token_endpoint": l.URL + "/token", "jwks_uri": l.URL + "/keys", "userinfo_endpoint": l.URL + "/info",
		"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
	}
	cfg := DefaultConfiguration()
	cfg.Issuer, cfg.ClientID, cfg.Roles = l.URL, "millrace", map[string]string{"noc": "viewer"}
	cfg.ClientSecretFile = filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(cfg.ClientSecretFile, []byte(clientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := New(cfg, "https://millrace.example.net/", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return l, c
}

func (l *liar) serve(w http.ResponseWriter, r *http.Request) {
	say := func(what any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(what) // the client left
	}
	switch {
	case l.down:
		http.Error(w, "no", http.StatusBadGateway)
	case r.URL.Path == l.broken:
		http.Error(w, strings.Repeat("no\x1b[31m\u009b31m\n", 10_000), http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		l.discovered++
		say(l.config)
	case r.URL.Path == "/info":
		say(l.info)
	case r.URL.Path == "/token":
		now := time.Now()
		status, body := l.answer(map[string]any{
			"iss": l.URL, "sub": "s-ann", "aud": "millrace", "exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "nonce": l.nonce,
			"preferred_username": "ann", "groups": []string{"noc"},
		})
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		say(body)
	default:
		l.keys.ServeHTTP(w, r)
	}
}

// signed is a good id_token of the claims.
func (l *liar) signed(claims map[string]any) string {
	raw, _ := json.Marshal(claims) // of texts and numbers
	return oidctest.SignIDToken(l.key, "k", "ES256", string(raw))
}

func tokens(idToken any) map[string]any {
	return map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": idToken}
}

// login begins a login, and ends it by a code.
func (l *liar) login(t *testing.T, c *Client) (Person, error) {
	t.Helper()
	to, sealed, err := c.Begin(t.Context())
	if err != nil {
		return Person{}, err
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	l.nonce = q.Get("nonce")
	if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || len(l.nonce) < 26 || len(q.Get("state")) < 26 {
		t.Errorf("the request is %s", to)
	}
	a := Answer{Sealed: sealed, Code: "c", State: q.Get("state")}
	opened, err := c.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	return c.End(t.Context(), opened, a)
}

func unsigned(header string, claims map[string]any, key []byte) string {
	raw, _ := json.Marshal(claims)
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(raw)
	if key == nil {
		return text + "."
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Nothing that is not signed by the provider for this client and this login is believed.
func TestWhatTheProviderSendsIsChecked(t *testing.T) {
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	with := func(name string, value any) func(*liar, map[string]any) any {
		return func(l *liar, c map[string]any) any { c[name] = value; return l.signed(c) }
	}
	for name, tt := range map[string]struct {
		token func(*liar, map[string]any) any
		says  string
	}{
		"a good one":      {func(l *liar, c map[string]any) any { return l.signed(c) }, ""},
		"none":            {func(*liar, map[string]any) any { return nil }, "no id_token"},
		"no token":        {func(*liar, map[string]any) any { return "x.y.z" }, "malformed"},
		"another issuer":  {with("iss", "https://evil.example"), "issued by a different provider"},
		"another client":  {with("aud", "other"), "audience"},
		"no client":       {with("aud", []string{}), "audience"},
		"another login":   {with("nonce", "other"), "nonce"},
		"an old one":      {with("exp", time.Now().Add(-Skew).Unix()), "expired"},
		"one of tomorrow": {with("iat", time.Now().Add(24*time.Hour).Unix()), "compare the clocks"},
		"a stranger's key": {func(_ *liar, c map[string]any) any {
			raw, _ := json.Marshal(c)
			return oidctest.SignIDToken(stranger, "k", "ES256", string(raw))
		}, "failed to verify"},
		"no signature": {func(_ *liar, c map[string]any) any { return unsigned(`{"alg":"none"}`, c, nil) }, "alg"},
		"signed by the client's secret": {func(_ *liar, c map[string]any) any {
			return unsigned(`{"alg":"HS256","kid":"k"}`, c, []byte(clientSecret))
		}, "alg"},
		"changed behind the signature": {func(l *liar, c map[string]any) any {
			token := strings.Split(l.signed(c), ".")
			c["groups"] = []string{"admins"}
			raw, _ := json.Marshal(c)
			return token[0] + "." + base64.RawURLEncoding.EncodeToString(raw) + "." + token[2]
		}, "failed to verify"},
		"of another access token": {with("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), "access token"},
	} {
		t.Run(name, func(t *testing.T) {
			l, c := newLiar(t)
			l.answer = func(claims map[string]any) (int, map[string]any) { return http.StatusOK, tokens(tt.token(l, claims)) }
			who, err := l.login(t, c)
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%+v %v, want %q", who, err, tt.says)
			}
		})
	}
}

// The subject of userinfo and of a refreshed token is that of the login.
func TestSubjectsStay(t *testing.T) {
	l, c := newLiar(t)
	l.answer = func(claims map[string]any) (int, map[string]any) {
		delete(claims, "groups")
		return http.StatusOK, tokens(l.signed(claims))
	}
	l.info = map[string]any{"sub": "s-bob", "groups": []string{"admins"}}
	if who, err := l.login(t, c); err == nil || !strings.Contains(err.Error(), "another subject") {
		t.Errorf("userinfo of somebody else: %+v %v", who, err)
	}
	l.info["sub"] = "s-ann"
	if who, err := l.login(t, c); err != nil || len(who.Groups) != 1 {
		t.Errorf("userinfo of the same: %+v %v", who, err)
	}
	l.nonce = ""
	if who, err := c.Refresh(t.Context(), "s-ann", "r"); err != nil || who.Subject != "s-ann" || who.Refresh != "r" {
		t.Errorf("a refresh: %+v %v", who, err)
	}
	if who, err := c.Refresh(t.Context(), "s-bob", "r"); err == nil {
		t.Errorf("a refresh that is of somebody else: %+v", who)
	}
	l.answer = func(map[string]any) (int, map[string]any) { return http.StatusOK, tokens(nil) }
	l.info["preferred_username"] = "ann"
	if who, err := c.Refresh(t.Context(), "s-ann", "r"); err != nil || who.Issuer != l.URL || who.Subject != "s-ann" {
		t.Errorf("a refresh without an id_token: %+v %v", who, err)
	}
	if who, err := c.Refresh(t.Context(), "s-bob", "r"); err == nil {
		t.Errorf("one of somebody else: %+v", who)
	}
}

// Failures are distinguished: the end of a login, and a provider that says nothing of it.
func TestRefusalsOfTheProvider(t *testing.T) {
	l, c := newLiar(t)
	var down *AwayError
	for name, tt := range map[string]struct {
		status      int
		body        map[string]any
		ended, away bool
	}{
		"the grant is over":   {http.StatusBadRequest, map[string]any{"error": "invalid_grant"}, true, false},
		"the client is wrong": {http.StatusUnauthorized, map[string]any{"error": "invalid_client"}, false, false},
		"it is broken":        {http.StatusInternalServerError, map[string]any{}, false, true},
		"no answer at all":    {http.StatusOK, map[string]any{}, false, true},
	} {
		l.answer = func(map[string]any) (int, map[string]any) { return tt.status, tt.body }
		_, err := c.Refresh(t.Context(), "s-ann", "r")
		if err == nil || errors.Is(err, ErrEnded) != tt.ended || errors.As(err, &down) != tt.away {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A provider that is down is asked again after a while, not by each stranger who would log in.
func TestDiscoveryIsTriedAgain(t *testing.T) {
	l, c := newLiar(t)
	now := time.Now()
	c.now = func() time.Time { return now }
	l.answer = func(claims map[string]any) (int, map[string]any) { return http.StatusOK, tokens(l.signed(claims)) }
	good := l.config["issuer"]
	l.config["issuer"] = "https://evil.example"
	var down *AwayError
	for range 3 {
		if _, err := l.login(t, c); !errors.As(err, &down) {
			t.Errorf("the document of another issuer: %v", err)
		}
	}
	if l.discovered != 1 {
		t.Errorf("asked %d times at once", l.discovered)
	}
	l.config["issuer"] = good
	now = now.Add(pause)
	if _, err := l.login(t, c); err != nil || l.discovered != 2 {
		t.Errorf("a while later: %v, asked %d times", err, l.discovered)
	}
}

// Endpoints without TLS of a provider with it are a document that somebody changed.
func TestEndpointsAreAsSecureAsTheIssuer(t *testing.T) {
	l, c := newLiar(t)
	secure := httptest.NewTLSServer(http.HandlerFunc(l.serve))
	t.Cleanup(secure.Close)
	l.config["issuer"] = secure.URL
	c.cfg.Issuer, c.http = secure.URL, secure.Client()
	names := []string{"authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri", "device_authorization_endpoint"}
	for _, plain := range names {
		for _, name := range names {
			l.config[name] = secure.URL + "/x"
		}
		l.config[plain] = l.URL + "/x"
		c.found, c.failedBy = nil, nil
		if _, _, err := c.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "not https") {
			t.Errorf("%s without TLS: %v", plain, err)
		}
	}
}

// What fails at the provider says nothing about the person, and what it writes then is neither long nor can it do
// anything to a terminal.
func TestAProviderThatIsBroken(t *testing.T) {
	for _, path := range []string{"/.well-known/openid-configuration", "/token", "/keys", "/info", "/device"} {
		t.Run(path, func(t *testing.T) {
			l, c := newLiar(t)
			l.config["device_authorization_endpoint"] = l.URL + "/device"
			l.broken = path
			l.answer = func(claims map[string]any) (int, map[string]any) {
				delete(claims, "groups")
				return http.StatusOK, tokens(l.signed(claims))
			}
			_, err := l.login(t, c)
			if path == "/device" {
				_, err = c.BeginDevice(t.Context())
			}
			var down *AwayError
			if !errors.As(err, &down) || len(err.Error()) > 500 || strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("%.200q", fmt.Sprint(err))
			}
		})
	}
}

// A refresh token that was given in exchange is there also where the rest fails: the old one is used up.
func TestARefreshTokenThatWasExchangedIsNotLost(t *testing.T) {
	for _, path := range []string{"/keys", "/info"} {
		l, c := newLiar(t)
		l.broken = path
		l.answer = func(claims map[string]any) (int, map[string]any) {
			delete(claims, "groups")
			body := tokens(l.signed(claims))
			body["refresh_token"] = "second"
			return http.StatusOK, body
		}
		if who, err := c.Refresh(t.Context(), "s-ann", "first"); err == nil || who.Refresh != "second" || who.Subject != "" {
			t.Errorf("%s fails: %+v %.200q", path, who, fmt.Sprint(err))
		}
	}
}

// Answers are bounded: a provider cannot fill the memory.
func TestAnswersAreBounded(t *testing.T) {
	l, c := newLiar(t)
	l.answer = func(map[string]any) (int, map[string]any) {
		return http.StatusOK, map[string]any{"access_token": strings.Repeat("a", 2*maxAnswer)}
	}
	if _, err := l.login(t, c); err == nil {
		t.Error("an answer of 2 MiB is taken")
	}
}

// What is sealed is opened for what it was sealed for, by the same secret.
func TestSeals(t *testing.T) {
	one, err := newSealer("one")
	if err != nil {
		t.Fatal(err)
	}
	two, err := newSealer("two")
	if err != nil {
		t.Fatal(err)
	}
	sealed := one.seal([]byte("text"), "a")
	if text, err := one.open(sealed, "a"); err != nil || string(text) != "text" {
		t.Errorf("%q %v", text, err)
	}
	for name, open := range map[string]func() ([]byte, error){
		"for something else": func() ([]byte, error) { return one.open(sealed, "b") },
		"by another secret":  func() ([]byte, error) { return two.open(sealed, "a") },
		"nothing":            func() ([]byte, error) { return one.open("", "a") },
		"a part":             func() ([]byte, error) { return one.open(sealed[:8], "a") },
		"no base64":          func() ([]byte, error) { return one.open("%"+sealed, "a") },
	} {
		if text, err := open(); !errors.Is(err, errSealed) {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	if again := one.seal([]byte("text"), "a"); again == sealed {
		t.Error("the same text is sealed alike")
	}
}

func TestSecretsThatAreNone(t *testing.T) {
	cfg := DefaultConfiguration()
	cfg.ClientSecretFile = filepath.Join(t.TempDir(), "none")
	if _, err := New(cfg, "", time.Now); err == nil {
		t.Error("a file that is not there is taken")
	}
	if err := os.WriteFile(cfg.ClientSecretFile, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg, "", time.Now); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty one: %v", err)
	}
	// Strangers have what is sealed by it, and can try words out.
	if err := os.WriteFile(cfg.ClientSecretFile, []byte("changeme-please\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg, "", time.Now); err == nil || !strings.Contains(err.Error(), "guess") {
		t.Errorf("one that can be guessed: %v", err)
	}
	cfg.CA = cfg.ClientSecretFile
	if err := os.WriteFile(cfg.ClientSecretFile, []byte(clientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg, "", time.Now); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("a CA that is none: %v", err)
	}
}

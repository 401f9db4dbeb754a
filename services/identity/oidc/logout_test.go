package oidc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// A logout token is the provider's, for this client, of now, and no id_token.
func TestLogoutTokensAreChecked(t *testing.T) {
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	event := map[string]any{logoutEvent: map[string]any{}}
	now := time.Now()
	for name, tt := range map[string]struct {
		change map[string]any
		by     *ecdsa.PrivateKey
		says   string
	}{
		"a good one":               {nil, nil, ""},
		"of a session alone":       {map[string]any{"sub": nil, "sid": "1"}, nil, ""},
		"with a clock that is off": {map[string]any{"exp": now.Add(-Skew + time.Minute).Unix(), "iat": now.Add(Skew - time.Minute).Unix()}, nil, ""},
		"a stranger's key":         {nil, stranger, "failed to verify"},
		"another issuer":           {map[string]any{"iss": "https://evil.example"}, nil, "issued by a different provider"},
		"another client":           {map[string]any{"aud": "other"}, nil, "audience"},
		"an id_token":              {map[string]any{"events": nil, "nonce": "n"}, nil, "no logout token"},
		"a nonce":                  {map[string]any{"nonce": "n"}, nil, "no logout token"},
		"an empty nonce":           {map[string]any{"nonce": ""}, nil, "no logout token"},
		"another event":            {map[string]any{"events": map[string]any{"http://schemas.openid.net/event/other": map[string]any{}}}, nil, "no logout token"},
		"an event that is a text":  {map[string]any{"events": map[string]any{logoutEvent: "x"}}, nil, "no logout token"},
		"events that are a list":   {map[string]any{"events": []any{logoutEvent}}, nil, "no logout token"},
		"an old one":               {map[string]any{"exp": now.Add(-Skew - time.Minute).Unix()}, nil, "expired"},
		"one of tomorrow":          {map[string]any{"iat": now.Add(24 * time.Hour).Unix()}, nil, "compare the clocks"},
		"no exp":                   {map[string]any{"exp": nil}, nil, "no exp"},
		"no iat":                   {map[string]any{"iat": nil}, nil, "no iat"},
		"no jti":                   {map[string]any{"jti": nil}, nil, "no jti"},
		"nobody":                   {map[string]any{"sub": nil}, nil, "neither a subject nor a session"},
	} {
		t.Run(name, func(t *testing.T) {
			l, c := newLiar(t)
			claims := map[string]any{
				"iss": l.URL, "sub": "s-ann", "aud": "millrace", "exp": now.Add(time.Minute).Unix(), "iat": now.Unix(), "jti": "j", "events": event,
			}
			for k, v := range tt.change {
				if claims[k] = v; v == nil {
					delete(claims, k)
				}
			}
			key := l.key
			if tt.by != nil {
				key = tt.by
			}
			raw, err := json.Marshal(claims)
			if err != nil {
				t.Fatal(err)
			}
			said, err := c.Logout(t.Context(), oidctest.SignIDToken(key, "k", "ES256", string(raw)))
			switch {
			case tt.says == "":
				if err != nil || said.ID != "j" || said.Subject == "" && said.Session == "" {
					t.Errorf("%+v, %v", said, err)
				}
			case err == nil || !strings.Contains(err.Error(), tt.says):
				t.Errorf("%+v, %v, want %q", said, err, tt.says)
			}
		})
	}
}

// While the provider is down nobody can tell whether a token is its: that is no refusal.
func TestLogoutsWhileTheProviderIsDown(t *testing.T) {
	l, c := newLiar(t)
	l.answer = func(map[string]any) (int, map[string]any) { return http.StatusOK, nil }
	l.down = true
	var away *AwayError
	if _, err := c.Logout(t.Context(), "x.y.z"); !errors.As(err, &away) {
		t.Errorf("%v", err)
	}
}

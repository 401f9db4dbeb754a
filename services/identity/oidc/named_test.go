package oidc

import (
	"net/http"
	"testing"
)

// A login that fails tells whom it was about, for the record of it, where the provider signed that for this client.
func TestARefusedLoginNamesWhomTheTokenNames(t *testing.T) {
	for name, tt := range map[string]struct {
		claims map[string]any
		want   string
	}{
		"of another login":         {map[string]any{"nonce": "other"}, "ann"},
		"an old one":               {map[string]any{"exp": 1}, "ann"},
		"groups that are none":     {map[string]any{"groups": 7}, "ann"},
		"of another access token":  {map[string]any{"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, "ann"},
		"without a name":           {map[string]any{"nonce": "other", "preferred_username": nil}, ""},
		"of another client":        {map[string]any{"aud": "other"}, ""},
		"of another provider":      {map[string]any{"iss": "https://evil.example"}, ""},
		"a name that is no text":   {map[string]any{"nonce": "other", "preferred_username": []string{"ann"}}, ""},
		"userinfo of another user": {map[string]any{"groups": nil, "preferred_username": "ann"}, "ann"},
	} {
		t.Run(name, func(t *testing.T) {
			l, c := newLiar(t)
			l.info = map[string]any{"sub": "s-bob", "preferred_username": "bob", "groups": []string{"noc"}}
			l.answer = func(claims map[string]any) (int, map[string]any) {
				for k, v := range tt.claims {
					if claims[k] = v; v == nil {
						delete(claims, k)
					}
				}
				return http.StatusOK, tokens(l.signed(claims))
			}
			who, err := l.login(t, c)
			if err == nil || who.Name != tt.want || who.Subject != "" || who.Refresh != "" {
				t.Errorf("%+v, %v; want the name %q alone", who, err, tt.want)
			}
		})
	}
}

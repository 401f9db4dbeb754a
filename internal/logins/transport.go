package logins

import (
	"net/http"
	"strings"
)

// Transport shows the token of a login with requests to the first of the servers, which Next may send to another one of
// them.
type Transport struct {
	Servers []string
	Next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := tokenFor(t.Servers)
	if err != nil {
		return nil, err
	}
	if token != "" && strings.HasPrefix(r.URL.String(), t.Servers[0]+"/") {
		r = showing(r, token)
	}
	return t.Next.RoundTrip(r)
}

// One shows one token with each request.
type One struct {
	Token string
	Next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (o One) RoundTrip(r *http.Request) (*http.Response, error) {
	return o.Next.RoundTrip(showing(r, o.Token))
}

func showing(r *http.Request, token string) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

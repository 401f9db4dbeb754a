package rpc

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Moved is a request to one base URL, as it is sent to another one.
func Moved(r *http.Request, from, to string) (*http.Request, error) {
	out := r.Clone(r.Context())
	if from == to {
		return out, nil
	}
	here, err := url.Parse(from)
	if err != nil {
		return nil, fmt.Errorf("base URL %q: %w", from, err)
	}
	there, err := url.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("base URL %q: %w", to, err)
	}
	u := *r.URL
	u.Scheme, u.Host, u.User = there.Scheme, there.Host, there.User
	u.Path = below(there.Path, here.Path, r.URL.Path)
	if u.RawPath != "" {
		u.RawPath = below(there.EscapedPath(), here.EscapedPath(), r.URL.RawPath)
	}
	out.URL, out.Host = &u, ""
	return out, nil
}

// below is a path below one folder, as it is below another one.
func below(to, from, path string) string {
	return strings.TrimSuffix(to, "/") + strings.TrimPrefix(path, strings.TrimSuffix(from, "/"))
}

package rpc

import (
	"net/http"
	"testing"
)

// The path of a base URL belongs to it.
func TestMovedRequests(t *testing.T) {
	for _, tt := range []struct{ from, to, url, want string }{
		{"http://a:1", "https://b:2", "http://a:1/p.S/M?q=1", "https://b:2/p.S/M?q=1"},
		{"http://a:1/x", "http://b:2", "http://a:1/x/p.S/M", "http://b:2/p.S/M"},
		{"http://a:1", "http://b:2/y/", "http://a:1/v1/a%2Fb", "http://b:2/y/v1/a%2Fb"},
		{"http://a:1", "http://a:1", "http://a:1/p", "http://a:1/p"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := Moved(r, tt.from, tt.to); err != nil || out.URL.String() != tt.want {
			t.Errorf("%+v: %v %v", tt, out, err)
		}
	}
}

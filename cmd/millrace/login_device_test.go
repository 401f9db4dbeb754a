package main

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/oidc"
	"github.com/millrace/millrace/services/identity"
)

// heard is what a command that is still running has said.
type heard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) { h.mu.Lock(); defer h.mu.Unlock(); return h.b.Write(p) }

func (h *heard) String() string { h.mu.Lock(); defer h.mu.Unlock(); return h.b.String() }

var said = regexp.MustCompile(`Open (\S+) in a browser, and confirm the code (\S+) until`)

// A command logs in by the provider, and what a token may not do goes by it, too: such people have no password.
func TestLoginsByTheProviderOnTheCommandLine(t *testing.T) {
	p := oidc.Start(t, "http://127.0.0.1:8080/", false)
	p.People(t, map[string]oidc.Person{"s-ann": {Name: "ann", Groups: []string{"noc"}}})
	_, run, start := loginServer(t, func(c *identity.Configuration) {
		c.URL, c.OIDC.Issuer, c.OIDC.ClientID, c.OIDC.ClientSecretFile = "http://127.0.0.1:8080", p.Issuer, p.Client, p.SecretFile
		c.OIDC.Scopes, c.OIDC.Roles = []string{"openid", "profile", "groups"}, map[string]string{"noc": "operator"}
	})
	byDevice := func(args ...string) string {
		t.Helper()
		out, done := &heard{}, make(chan error, 1)
		go func() { done <- start("", out, args...) }()
		var found []string
		await.True(t, "a code", func() bool { found = said.FindStringSubmatch(out.String()); return found != nil })
		oidc.NewBrowser(t, "http://127.0.0.1:8080/").Confirm(t, found[1], found[2], "s-ann")
		if err := await.Value(t, "the end of the command", done); err != nil {
			t.Fatalf("%v: %v, %s", args, err, out)
		}
		return out.String()
	}
	if out := byDevice("login"); !strings.Contains(out, "as ann, operator") {
		t.Errorf("logged in: %s", out)
	}
	if out := byDevice("tokens", "create", "ci"); !strings.Contains(out, "mrt_") {
		t.Errorf("a token: %s", out)
	}
	if out, err := run("", "tokens", "list"); err != nil || !strings.Contains(out, "ci") {
		t.Errorf("%v, %s", err, out)
	}
}

// Without a provider the command says what to give.
func TestALoginWithoutAProvider(t *testing.T) {
	_, run, _ := loginServer(t)
	if out, err := run("", "login"); err == nil || !strings.Contains(err.Error(), "give --name or --link") {
		t.Errorf("%v, %s", err, out)
	}
}

// Package oidc runs a real OpenID provider for tests, and logs people in there as a browser does.
//
// In: what the stamp oidc of the Makefile fetched (tools/oidc).
// Out: a provider that lives as long as the test, whose people and keys tests change.
// Next: tests of services/identity and cmd/millrace.
package oidc

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/child"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/checkout"
	"github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/wholefile"
)

// Variable is the folder with the provider. `make test` sets it, and then nothing may be missing.
const Variable = "MILLRACE_OIDC"

// Person is somebody at the provider, by the subject.
type Person struct {
	Name   string   `json:"preferred_username,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// Provider is a running provider.
type Provider struct {
	Issuer, Client, SecretFile string

	// Logout is where it sends log-outs to, from its next start on; empty: nowhere.
	Logout string

	folder, script string
	port           int
	redirect       string
	userinfo       bool
	process        *exec.Cmd
	ended          <-chan struct{}
	said           <-chan string // its lines, until it ends
}

// Secret of the client.
const Secret = "a secret of the client+/="

// Start starts a provider whose client has one redirect URI. userinfo keeps names and groups out of id_tokens.
func Start(t testing.TB, redirect string, userinfo bool) *Provider {
	t.Helper()
	p := &Provider{Client: "millrace", folder: t.TempDir(), script: script(t), port: ports.Reserve(t)}
	p.SecretFile = filepath.Join(p.folder, "secret")
	if err := os.WriteFile(p.SecretFile, []byte(Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.People(t, nil)
	p.redirect, p.userinfo = redirect, userinfo
	t.Cleanup(p.Stop)
	p.Again(t)
	return p
}

func script(t testing.TB) string {
	t.Helper()
	folder := os.Getenv(Variable)
	given := folder != "" || os.Getenv("CI") != ""
	if folder == "" {
		folder = filepath.Join(checkout.Root(t), ".cache", "oidc")
	}
	file := filepath.Join(folder, "provider.mjs")
	if _, err := os.Stat(file); err != nil {
		if given {
			t.Fatalf("the OpenID provider is missing; `make .cache/stamps/oidc` gets it: %v", err)
		}
		t.Skip("the OpenID provider is missing: run `make .cache/stamps/oidc`")
	}
	return file
}

func (p *Provider) write(t testing.TB, file string, what any) {
	t.Helper()
	raw, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	wholefile.Write(t, filepath.Join(p.folder, file), string(raw))
}

// People are all people from now on.
func (p *Provider) People(t testing.TB, all map[string]Person) {
	t.Helper()
	if all == nil {
		all = map[string]Person{}
	}
	p.write(t, "people.json", all)
}

// Again starts it on the same port; it has forgotten everybody.
func (p *Provider) Again(t testing.TB) {
	t.Helper()
	p.write(t, "config.json", map[string]any{
		"port": p.port, "client": p.Client, "secret": Secret, "redirects": []string{p.redirect}, "people": filepath.Join(p.folder, "people.json"), "userinfo": p.userinfo,
		"logout": p.Logout,
	})
	p.process = exec.Command("node", p.script, filepath.Join(p.folder, "config.json"))
	out, err := p.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(p.folder, "log")
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p.process.Stderr = f
	if p.ended, err = child.Start(p.process); err != nil {
		t.Fatalf("start the OpenID provider: %v", err)
	}
	p.said = lines(out)
	p.Issuer = p.line(t, log)
}

// line is what it prints next.
func (p *Provider) line(t testing.TB, log string) string {
	t.Helper()
	said, lives := "", false
	select {
	case said, lives = <-p.said:
	case <-time.After(await.Patience):
		t.Fatalf("after %s the OpenID provider says nothing:\n%s", await.Patience, program.Threads(p.process.Process.Pid))
	}
	if !lives {
		errors, _ := os.ReadFile(log) // for the message: as much as there is
		t.Fatalf("the OpenID provider ended: %s", errors)
	}
	return said
}

func lines(from io.Reader) <-chan string {
	to := make(chan string, 10)
	go func() {
		defer close(to)
		for s := bufio.NewScanner(from); s.Scan(); {
			to <- s.Text()
		}
	}()
	return to
}

// Rotate replaces its keys.
func (p *Provider) Rotate(t testing.TB) {
	t.Helper()
	if err := p.process.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if said := p.line(t, filepath.Join(p.folder, "log")); said != "rotated" {
		t.Fatalf("the OpenID provider says %q", said)
	}
}

// Stop ends it; stopping twice is allowed.
func (p *Provider) Stop() {
	if p.process == nil {
		return
	}
	_ = p.process.Process.Kill() // gone already is fine
	<-p.ended
	p.process = nil
}

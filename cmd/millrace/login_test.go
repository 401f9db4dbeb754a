package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/logins"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/services/audit"
	"github.com/millrace/millrace/services/identity"
)

// loginServer serves logins on a port, with an etcd of its own; the user's configuration is an empty folder.
func loginServer(t *testing.T, change ...func(*identity.Configuration)) (c *identity.Component, run func(input string, args ...string) (string, error), start func(input string, out io.Writer, args ...string) error) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv(logins.Variable, "")
	etcd := state.NewEmbedded(t.TempDir(), state.UnsafeNoFsync)
	if err := etcd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { etcd.Stop(t.Context()) })
	cfg := identity.DefaultConfiguration()
	cfg.Mode = identity.ModeOn
	for _, set := range change {
		set(&cfg)
	}
	c, err := identity.New(cfg, identity.Dependencies{State: etcd.Store(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.New(audit.DefaultConfiguration(), audit.Dependencies{On: true, State: etcd.Store(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Stop(context.Background()) })
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	gate := rpc.Gate{Who: c.Who, Record: log.Recorder()}
	for _, handler := range []func() (string, http.Handler){c.Handler, log.Handler} {
		path, h := handler()
		mux.Handle(path, gate.Wrap(nil, h))
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("MILLRACE_SERVER", server.URL)
	start = func(input string, out io.Writer, args ...string) error {
		cmd := root()
		if !slices.Contains(args, "--server") {
			args = append(args, "--server", server.URL)
		}
		cmd.SetArgs(args)
		cmd.SetIn(strings.NewReader(input))
		cmd.SetOut(out)
		cmd.SetErr(out)
		return cmd.ExecuteContext(t.Context())
	}
	return c, func(input string, args ...string) (string, error) {
		var out bytes.Buffer
		err := start(input, &out, args...)
		return out.String(), err
	}, start
}

// The way of the reference page, from the printed link to a log-out; what a token may not do logs in first.
func TestLoginsOnTheCommandLine(t *testing.T) {
	c, run, _ := loginServer(t)
	link, err := c.LoginLink(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	const own, anns = "correct horse battery\n", "stapled horse battery\n"
	must := func(want, input string, args ...string) string {
		t.Helper()
		out, err := run(input, args...)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("%v: %v, %s, want %q", args, err, out, want)
		}
		return strings.TrimSpace(out)
	}
	if _, err := run(own, "users", "password"); err == nil || !strings.Contains(err.Error(), "--as or --link") {
		t.Errorf("a password without a login: %v", err)
	}
	must("the password is set", own, "users", "password", "--link", link)
	must("as admin, admin", own, "login", "--name", "admin")
	must("", "", "users", "put", "ann", "--role", "viewer")
	must("the password is set", own+anns, "users", "password", "ann")
	must("as admin, admin", own, "login", "--name", "admin") // revokes the token before
	if got := must("millrace login", "", "tokens", "list"); strings.Count(got, "\n") != 0 {
		t.Errorf("two logins keep\n%s", got)
	}
	program := must("mrt_", own, "tokens", "create", "ci")
	t.Setenv(logins.Variable, program)
	must("logged out", "", "logout") // of the saved token, not the program's
	must("as ann, viewer", anns, "login", "--name", "ann")
	t.Setenv(logins.Variable, "")
	must("sessions that have ended", anns, "logout", "--everywhere")
	t.Setenv(logins.Variable, program)
	if got := must("ci", "", "tokens", "list"); strings.Count(got, "\n") != 0 {
		t.Errorf("beside the program's token there are\n%s", got)
	}
	t.Setenv(logins.Variable, "")
	must("as admin, admin", own, "login", "--name", "admin")
	for line := range strings.Lines(must("millrace login", "", "tokens", "list")) {
		if id, _, _ := strings.Cut(line, " "); strings.Contains(line, "millrace login") {
			must("is revoked", "", "tokens", "revoke", id) // by itself
		}
	}
	must("expired or revoked before", "", "logout")
	if _, err := run("", "logout"); err == nil || !strings.Contains(err.Error(), "there is no login") {
		t.Errorf("a token that was revoked is kept: %v", err)
	}
}

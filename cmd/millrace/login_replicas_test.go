package main

import (
	"github.com/millrace/millrace/internal/logins"
	"os"
	"strings"
	"testing"

	reserved "github.com/millrace/millrace/internal/testkit/ports"
)

// A login to replicas is one to each of them, whichever is named later, and ends at all of them.
func TestALoginIsToAllReplicas(t *testing.T) {
	c, run, _ := loginServer(t)
	link, err := c.LoginLink(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	away, other := "http://"+reserved.Loopback(t), "http://"+reserved.Loopback(t)
	server := os.Getenv("MILLRACE_SERVER")
	must := func(want string, args ...string) {
		t.Helper()
		if out, err := run("", args...); err != nil || !strings.Contains(out, want) {
			t.Fatalf("%v: %v\n%s\nwant %q", args, err, out, want)
		}
	}
	must("logged in", "login", "--link", link, "--server", away+","+server)
	must("millrace login on", "tokens", "list", "--server", server)
	must("millrace login on", "tokens", "list", "--server", other+","+away+","+server)
	link, err = c.LoginLink(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	must("logged in", "login", "--link", link, "--server", server) // which revokes the token of both
	must("millrace login on", "tokens", "list", "--server", away+","+server)
	must("logged out", "logout", "--server", server)
	if out, err := run("", "tokens", "list", "--server", away+","+server); err == nil {
		t.Errorf("after the log-out: %s", out)
	}
	if all, err := logins.Saved(); err != nil || len(all) > 0 {
		t.Errorf("%v is left, %v", all, err)
	}
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
)

// Who logged in, made and revoked a token is in the log; an export is verified, and one that was edited is found.
func TestAuditOnTheCommandLine(t *testing.T) {
	c, run, _ := loginServer(t)
	link, err := c.LoginLink(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := run("", args...)
		if err != nil {
			t.Fatalf("%v: %v, %s", args, err, out)
		}
		return strings.TrimSpace(out)
	}
	must("login", "--link", link)
	must("users", "put", "ann", "--role", "viewer")
	if out, err := run("wrong horse battery\n", "login", "--name", "ann"); err == nil {
		t.Fatal(out)
	}
	for _, want := range []string{
		"  admin  127.0.0.1  /millrace.identity.v1.IdentityService/Redeem  ok", "IdentityService/CreateToken  ok  object=\"millrace login on ",
		"IdentityService/Logout  ok", "  admin (token ", "IdentityService/PutUser  ok  object=ann", "  nobody  127.0.0.1  /millrace.identity.v1.IdentityService/Login  unauthenticated  object=ann",
	} {
		await.True(t, want, func() bool { return strings.Contains(must("audit", "list"), want) })
	}
	if only := must("audit", "list", "--procedure", "putuser", "--user", "adm"); strings.Contains(only, "\n") || !strings.Contains(only, "PutUser") {
		t.Errorf("only one call:\n%s", only)
	}
	head := must("audit", "verify")
	_, mark, _ := strings.Cut(head, "head ")
	must("audit", "verify", "--noted", mark)
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	lines := strings.SplitAfter(must("audit", "export"), "\n")
	for name, tt := range map[string]struct {
		lines []string
		finds string
	}{
		"as it was":        {lines, ""},
		"edited":           {slices.Concat(lines[:3], []string{strings.Replace(lines[3], "admin", "anna", 1)}, lines[4:]), "edited at 3"},
		"one line less":    {slices.Concat(lines[:3], lines[4:]), "removed at 4"},
		"without its end":  {lines[:4], "it was cut off"},
		"not of an export": {[]string{"{}x"}, "line 1"},
	} {
		if err := os.WriteFile(file, []byte(strings.Join(tt.lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := run("", "audit", "verify", "--file", file)
		text := out
		if err != nil {
			text += err.Error()
		}
		if (err == nil) != (tt.finds == "") || !strings.Contains(text, tt.finds) || err != nil && exitCode(err) != exitUnmet {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}

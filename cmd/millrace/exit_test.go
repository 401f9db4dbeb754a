package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

func TestExitCodesOfCommandLines(t *testing.T) {
	for _, c := range []struct {
		name, line string
		code       int
		says       string
	}{
		{"an unknown command", "nosuch", exitUsage, `there is no command "nosuch"`},
		{"a mistyped subcommand", "policy chek x", exitUsage, "did you mean check?"},
		{"a missing argument", "policy plan", exitUsage, "see `millrace policy plan --help`"},
		{"an unknown flag", "change list --nope", exitUsage, "unknown flag"},
		{"a file that is not there", "policy check nosuch.yaml", exitUsage, "nosuch.yaml"},
		{"nothing listens", "alpha list --server http://127.0.0.1:1", exitFailed, "start one with `millrace up`"},
		{"a group alone shows its help", "policy", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := root()
			cmd.SetArgs(strings.Fields(c.line))
			cmd.SetOut(io.Discard)
			err := cmd.Execute()
			switch {
			case c.code == 0 && err != nil:
				t.Fatal(err)
			case c.code == 0:
			case err == nil || exitCode(err) != c.code || !strings.Contains(err.Error(), c.says):
				t.Errorf("error %v with exit code %d, want one that says %q with %d", err, exitCode(err), c.says, c.code)
			}
		})
	}
}

// TestTheReferenceIsCurrent: a command that has subcommands and does something itself still does it.
func TestTheReferenceIsCurrent(t *testing.T) {
	var out bytes.Buffer
	cmd := root()
	cmd.SetArgs([]string{"reference"})
	cmd.SetOut(&out)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, out.Bytes()) {
		t.Error("docs/reference/cli.md is not current: go run ./cmd/millrace reference > docs/reference/cli.md")
	}
}

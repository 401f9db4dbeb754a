package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestALifeThatIsNoneIsRefused: no CA, certificate or list is made that is not good for a moment, and those that are
// there stay.
func TestALifeThatIsNoneIsRefused(t *testing.T) {
	folder := t.TempDir()
	at, out := filepath.Join(folder, "ca"), filepath.Join(folder, "tls")
	run := func(args ...string) error {
		cmd := root()
		cmd.SetArgs(append([]string{"ca"}, args...))
		cmd.SetOut(new(bytes.Buffer))
		return cmd.ExecuteContext(t.Context())
	}
	if err := errors.Join(run("init", at), run("issue", at, "push", "--out", out)); err != nil {
		t.Fatal(err)
	}
	cert := filepath.Join(out, "push", "tls.crt")
	before, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	for _, life := range []string{"0s", "-720h"} {
		for _, args := range [][]string{{"init", filepath.Join(folder, "other")}, {"issue", at, "push", "--out", out}, {"rotate", at}, {"revoke", at, cert}, {"crl", at}} {
			var code coded
			if err := run(append(args, "--life", life)...); !errors.As(err, &code) || code.code != exitUsage {
				t.Errorf("ca %s --life %s: %v, want exit code %d", args[0], life, err, exitUsage)
			}
		}
	}
	if after, err := os.ReadFile(cert); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the certificate was replaced (%v)", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "other")); err == nil {
		t.Error("a CA that is not good for a moment keeps another one from being made")
	}
}

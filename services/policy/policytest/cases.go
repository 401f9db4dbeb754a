// Package policytest reads the golden cases, for tests, and says what of a plan OpenConfig could express on Junos.
//
// In: a folder of policies/golden, with a network, its policy and what follows from them. Out: the compiler's input,
// and differences from the golden files. Next: tests of services/policy, its compiler and its renderers.
package policytest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/checkout"
	"github.com/millrace/millrace/policies"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/offline"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests saw into their golden files")

// Names lists the cases.
func Names(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(Path(t, "*", "network.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	var out []string
	for _, f := range files {
		out = append(out, filepath.Base(filepath.Dir(f)))
	}
	return out
}

// Path is a file of a case.
func Path(t testing.TB, name, file string) string {
	t.Helper()
	return filepath.Join(checkout.Root(t), "policies/golden", name, file)
}

// Read gives a case as the compiler takes it. Its network.yaml names a shipped policy, or one beside it.
func Read(t testing.TB, name string) compile.Input {
	t.Helper()
	raw, err := os.ReadFile(Path(t, name, "network.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := offline.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := policies.Files.ReadFile(n.Policy)
	if err != nil {
		text, err = os.ReadFile(Path(t, name, n.Policy))
	}
	if err != nil {
		t.Fatal(err)
	}
	p, problems := document.Parse(n.Policy, string(text))
	if err := document.Join(problems); err != nil {
		t.Fatal(err)
	}
	return n.Input(*p, nil)
}

// Compare fails the test where a file of a case is not what was seen; with -rewrite it becomes so.
func Compare(t *testing.T, name, file, got string) {
	t.Helper()
	path := Path(t, name, file)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, string(want)); diff != "" {
		t.Errorf("%s (-got +want):\n%s", path, diff)
	}
}

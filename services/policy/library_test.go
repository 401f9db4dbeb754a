package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/millrace/millrace/policies"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/policytest"
)

// A file is parsed once for each text it has, and an edit counts from the next use on.
func TestLibraryParsesEachTextOnce(t *testing.T) {
	const name = "hntes-two-queue"
	text, err := policies.Files.ReadFile(name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := newLibrary(dir)
	write(string(text))
	first, err := l.get(name)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := l.get(name); err != nil || again != first {
		t.Errorf("a file that nobody touched was parsed again, or %v", err)
	}
	write("policy: [")
	if p, err := l.get(name); err == nil {
		t.Errorf("a broken edit left %v in use", p)
	}
	write(string(text) + "\n# an edit\n")
	if edited, err := l.get(name); err != nil || edited == first || !reflect.DeepEqual(edited, first) {
		t.Errorf("after a comment was added: the same policy %v, %v", edited == first, err)
	}
	if err := os.Remove(filepath.Join(dir, "p.yaml")); err != nil {
		t.Fatal(err)
	}
	if p, err := l.get(name); err == nil {
		t.Errorf("a file that was removed left %v in use", p)
	}
}

// Plans share one parsed policy, so compiling writes to none of it.
func TestCompileLeavesThePolicyAsItIs(t *testing.T) {
	for _, name := range policytest.Names(t) {
		in, untouched := policytest.Read(t, name), policytest.Read(t, name)
		if _, err := compile.Compile(in); err != nil {
			t.Fatal(name, err)
		}
		if !reflect.DeepEqual(in.Policy, untouched.Policy) {
			t.Errorf("%s: Compile changed the policy to %+v; it was %+v", name, in.Policy, untouched.Policy)
		}
	}
}

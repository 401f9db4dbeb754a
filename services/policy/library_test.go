package policy

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/device"
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

// A file with errors, or a name that two files have, keeps its own policy from being planned, and a process from its
// start.
func TestAnotherFileWithErrorsKeepsNoPolicyFromItsPlan(t *testing.T) {
	text, err := policies.Files.ReadFile("hntes-two-queue.yaml")
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) string {
		return strings.Replace(string(text), "policy: hntes-two-queue", "policy: "+name, 1)
	}
	dir := t.TempDir()
	for file, text := range map[string]string{"a": named("good"), "b": "policy: draft\nqueues: [", "c": named("twice"), "d": named("twice")} {
		if err := os.WriteFile(filepath.Join(dir, file+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := newLibrary(dir)
	for name, want := range map[string]string{"good": "", "twice": "c.yaml and d.yaml are both policy twice", "draft": "b.yaml:2:"} {
		p, err := l.get(name)
		if (want == "") != (err == nil && p.Name == name) || err != nil && (errors.Is(err, errNoPolicy) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if _, err := l.names(); err == nil || !strings.Contains(err.Error(), "b.yaml:2:") || !strings.Contains(err.Error(), "both policy twice") {
		t.Errorf("a start says %v", err)
	}
}

// A file with errors is not forgotten until the next start, which would fail: the log names it once, and the metric has
// it until it is right.
func TestAFileWithErrorsDoesNotHide(t *testing.T) {
	good, err := policies.Files.ReadFile("hntes-two-queue.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, log := t.TempDir(), &strings.Builder{}
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", string(good))
	c, err := New(Configuration{Dir: dir}, Dependencies{Inventory: &device.Inventory{}, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		file, text   string
		broken, told int
		names        string
	}{
		{"b.yaml", string(good[:len(good)/2]), 1, 1, "b.yaml"},
		{"b.yaml", "policy: [", 1, 2, "b.yaml"},
		{"c.yaml", "policy: [", 2, 3, "c.yaml"},
		{"b.yaml", strings.Replace(string(good), "hntes-two-queue", "other", 1), 1, 4, ""},
		{"c.yaml", strings.Replace(string(good), "hntes-two-queue", "another", 1), 0, 4, ""},
		{"c.yaml", strings.Replace(string(good), "hntes-two-queue", "other", 1), 1, 5, "b.yaml and c.yaml are both policy other"},
	} {
		write(s.file, s.text)
		for range 3 {
			if _, err := (&api{c}).policy("hntes-two-queue"); err != nil {
				t.Errorf("%s: %v", s.file, err)
			}
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if got := testutil.ToFloat64(c.metrics.broken); int(got) != s.broken || len(lines) != s.told || !strings.Contains(lines[len(lines)-1], s.names) {
			t.Errorf("%s: %v files are broken, want %d, and the log is\n%s", s.file, got, s.broken, log)
		}
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

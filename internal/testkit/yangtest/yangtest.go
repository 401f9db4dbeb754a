// Package yangtest validates configuration with yanglint against published
// models, OpenConfig's release and Juniper's modules (24.4R1), for tests.
//
// In: RFC 7951 JSON. Out: yanglint's messages. Next: tests of services/policy/render/junos and
// services/policy.
package yangtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/checkout"
)

// Dir is a folder of the published models: MILLRACE_YANG, or shared/yang beside the repository.
func Dir(t testing.TB, name, probe string) string {
	t.Helper()
	root := os.Getenv("MILLRACE_YANG")
	if root == "" {
		root = filepath.Join(checkout.Root(t), "../shared/yang")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(filepath.Join(dir, probe)); err != nil {
		t.Skipf("published models are missing: set MILLRACE_YANG to the folder that holds %s/%s (%v)", name, probe, err)
	}
	return dir
}

// Modules copies Juniper's modules to a folder in which libyang can read them:
// some patterns are written "\*", which no YANG string may hold (gnmi.md section 2.4).
func Modules(t testing.TB) string {
	t.Helper()
	from := Dir(t, "junos", "junos-conf-root@2024-01-01.yang")
	files, err := filepath.Glob(filepath.Join(from, "*.yang"))
	if err != nil {
		t.Fatal(err)
	}
	dir, mended := t.TempDir(), 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		mended += strings.Count(string(raw), `pattern "\*"`)
		text := strings.ReplaceAll(string(raw), `pattern "\*"`, `pattern '\*'`)
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if mended != 5 {
		t.Errorf("%d patterns had to be mended, want 5: the models are not those of 24.4R1", mended)
	}
	return dir
}

var modules = []string{"root", "class-of-service", "firewall", "interfaces", "policy-options", "protocols", "routing-instances", "routing-options"}

// Lint validates documents; the modules, from a folder that Modules made, are loaded once, which takes some seconds.
func Lint(t testing.TB, dir string, documents ...[]byte) (string, error) {
	t.Helper()
	return LintWith(t, dir, modules, documents...)
}

// LintWith is Lint with some modules only, by their names behind junos-conf-.
func LintWith(t testing.TB, dir string, modules []string, documents ...[]byte) (string, error) {
	t.Helper()
	args := []string{"-t", "config", "-p", dir}
	for _, m := range modules {
		args = append(args, filepath.Join(dir, "junos-conf-"+m+"@2024-01-01.yang"))
	}
	for i, d := range documents {
		file := filepath.Join(dir, fmt.Sprintf("config-%d.json", i))
		if err := os.WriteFile(file, d, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	return Run(t, args...)
}

// Run is yanglint without the models' warnings about themselves.
func Run(t testing.TB, args ...string) (string, error) {
	t.Helper()
	tool, err := exec.LookPath("yanglint")
	if err != nil {
		t.Skip("yanglint is missing: install Debian's libyang2-tools")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, tool, args...).CombinedOutput()
	var kept []string
	for _, line := range strings.Split(string(out), "\n") {
		if !strings.HasPrefix(line, "libyang warn:") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n"), err
}

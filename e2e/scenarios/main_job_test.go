// Package scenarios runs shipped scenarios with the built binary, as `make demo`
// and `make e2e` do.
//
// In: bin/millrace. Out: verdicts. Next: `make test`.
package scenarios

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const root = "../.."

// The main job, as `make demo` runs it: real routers, real TCP, a real browser.
// Its report is left in out/test, for the reason of a failure.
func TestMainJob(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes three minutes; leave -short away")
	}
	binary := filepath.Join(root, "bin", "millrace")
	for _, need := range []string{binary, filepath.Join(root, "services/dashboard/web/node_modules/playwright-core")} {
		if _, err := os.Stat(need); err != nil {
			t.Fatalf("%s is missing: run make build", need)
		}
	}
	output, err := filepath.Abs(filepath.Join(root, "out", "test"))
	if err != nil {
		t.Fatal(err)
	}
	name := labName("main-job")
	cmd := exec.Command("bin/millrace", "lab", "run", "hntes-redirect", "--name", name,
		"--output", output, "--listen", "127.0.0.1:0", "--approve", "dashboard")
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"report.json", "report.html", "dashboard-planned.png", "dashboard-verified.png"} {
		if info, err := os.Stat(filepath.Join(output, want)); err != nil || info.Size() == 0 {
			t.Errorf("%s was not written: %v", want, err)
		}
	}
	noLabIsUp(t, name)
}

package scenarios

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/qos"
)

// Two short scenarios as `make e2e` runs all: policies compiled, pushed to real
// agents, real packets counted. Their results are left in out/test. They run beside
// the main job: what either judges holds if something is late by 300 ms (docs/reference/lab.md).
func TestScenarios(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes two minutes; leave -short away")
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "millrace")); err != nil {
		t.Fatalf("bin/millrace is missing: run make build")
	}
	t.Cleanup(func() { noLabIsUp(t, "fp-dp-1.9-test", "fp-dp-1.10-test") })
	for _, name := range []string{"fp-dp-1.9", "fp-dp-1.10"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("bin/millrace", "lab", "run", name, "--name", name+"-test", "--json")
			cmd.Dir = root
			out, err := cmd.Output()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				t.Logf("%s", exit.Stderr)
			}
			var r qos.Result
			if decodeErr := json.Unmarshal(out, &r); decodeErr != nil {
				t.Fatal(errors.Join(err, decodeErr))
			}
			keep(t, name, out)
			for _, v := range r.Verdicts {
				if v.Result() != "met" && v.Observed == "" {
					t.Errorf("%s: measured %.5g, expected %s: %s", v.Name, v.Got, v.Bound(), v.Result())
				}
			}
			if !r.Pass || err != nil {
				t.Errorf("pass %t, %v", r.Pass, err)
			}
		})
	}
}

func noLabIsUp(t *testing.T, names ...string) {
	t.Helper()
	all, err := lab.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if slices.Contains(names, l.Name) {
			t.Errorf("lab %s is still up", l.Name)
		}
	}
}

func keep(t *testing.T, name string, out []byte) {
	t.Helper()
	folder := filepath.Join(root, "out", "test")
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, name+".json"), out, 0o644)); err != nil {
		t.Fatal(err)
	}
}

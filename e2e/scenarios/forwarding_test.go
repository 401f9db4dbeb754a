package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	for _, name := range []string{"fp-dp-1.9", "fp-dp-1.10"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("bin/millrace", "lab", "run", name, "--name", labName(name), "--json")
			cmd.Dir = root
			out, err := cmd.Output()
			t.Logf("%s", said(err))
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
			noLabIsUp(t, labName(name))
		})
	}
}

// labName is a lab's that no other run of these tests on this machine has.
func labName(scenario string) string { return fmt.Sprintf("test-%d-%s", os.Getpid(), scenario) }

// said is what a program that failed printed of it.
func said(err error) []byte {
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return exit.Stderr
	}
	return nil
}

func noLabIsUp(t *testing.T, name string) {
	t.Helper()
	all, err := lab.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Name == name {
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

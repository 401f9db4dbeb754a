package hntes

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/e2e/lab"
	"github.com/millrace/millrace/e2e/scenario"
)

const root = "../.."

// The main job, as `make demo` runs it: real routers, real TCP, a real browser.
// Its report is left in out/test for whoever wants to know why.
func TestMainJob(t *testing.T) {
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
	cmd := exec.Command("bin/millrace", "lab", "run", "hntes-redirect", "--name", "main-job-test",
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
	all, err := lab.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Name == "main-job-test" {
			t.Error("the lab is still up")
		}
	}
}

func TestOnlyScenariosThatAskForARedirectNeedTheLoop(t *testing.T) {
	s, err := scenario.Load(filepath.Join(root, "e2e/scenarios/hntes-redirect"))
	if err != nil {
		t.Fatal(err)
	}
	if !Needed(s) {
		t.Error("hntes-redirect needs no loop")
	}
	s.Phases = s.Phases[:2]
	if Needed(s) {
		t.Error("idle and day1 alone need the loop")
	}
}

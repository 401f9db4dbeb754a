package scenarios

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// TestAnAlphaFlowIsRedirectedWhileItGoesOn runs the scenario whose flow no nightly run has found.
func TestAnAlphaFlowIsRedirectedWhileItGoesOn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes two minutes; leave -short away")
	}
	name := labName("online")
	cmd := exec.Command("bin/millrace", "lab", "run", "hntes-online", "--name", name, "--output", t.TempDir(), "--listen", "127.0.0.1:0", "--json")
	cmd.Dir = root
	raw, err := cmd.Output()
	t.Logf("%s%s", raw, said(err))
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Pass  bool
		Steps []struct {
			Name    string
			Seconds float64
		}
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	if !result.Pass || len(result.Steps) != 9 {
		t.Errorf("passed %t with steps %v, want nine", result.Pass, result.Steps)
	}
	noLabIsUp(t, name)
}

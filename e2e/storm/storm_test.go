// Package storm runs a crowd of requests for circuits in small, with the binary.
//
// In: the millrace binary. Out: verdicts. Next: `make test`; the whole of it is `millrace lab run circuit-storm`.
package storm

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/scenario"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// No overbooking and no lost answer while the leader of etcd and replicas of the service are killed.
func TestStorm(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), program.Path, "lab", "run", "testdata/small", "--json", "--output", t.TempDir()+"/out")
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v", err)
	}
	var result struct {
		Verdicts []scenario.Verdict
		Pass     bool
	}
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, v := range result.Verdicts {
		if v.Unmet() || v.Skipped != "" {
			t.Errorf("%s: %g, want %s %s", v.Name, v.Got, v.Bound(), v.Skipped)
		}
	}
	if !result.Pass || len(result.Verdicts) < 10 {
		t.Errorf("%d verdicts, pass: %t", len(result.Verdicts), result.Pass)
	}
}

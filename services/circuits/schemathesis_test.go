package circuits

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/thirdparty"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// Schemathesis makes requests of the OpenAPI document, right ones and wrong ones, alone and one upon the other, and
// judges each answer by the document: no 5xx, no status, header or body that it does not have, nothing taken that it
// forbids. A seed makes it ask the same in every run, but for the ids of circuits.
func TestTheOpenAPIDocumentIsTrue(t *testing.T) {
	w := newWorld(t)
	c, url := w.served(rpc.Gate{})                  // without logins
	c.deps.Flows, c.deps.Alpha = &flows{}, alphas{} // without them usage and proposals are "unavailable"
	files, err := filepath.Abs("testdata/schemathesis")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), thirdparty.Tool(t, "python/bin/st"), "--config-file", filepath.Join(files, "schemathesis.toml"),
		"run", url+"/v1/openapi.json", "--checks", "all", "--mode", "all", "--phases", "examples,coverage,fuzzing,stateful",
		"--seed", "20261123", "--max-examples", "8", "--workers", "1", "--continue-on-failure", "--no-color", "--warnings", "off")
	cmd.Dir = t.TempDir() // it writes what it has learnt there
	cmd.Env = append(os.Environ(), "SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH="+files, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	number := func(pattern string) int {
		m := regexp.MustCompile(pattern).FindSubmatch(out)
		if m == nil {
			t.Fatalf("there is no %q in\n%s", pattern, out)
		}
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if selected, tested := number(`Selected: \d+/(\d+)`), number(`Tested: (\d+)`); selected != tested || tested < 10 {
		t.Errorf("%d of %d operations were tested\n%s", tested, selected, out)
	}
	if n := number(`(\d+) generated`); n < 500 {
		t.Errorf("only %d cases\n%s", n, out)
	}
	list, err := (&api{c}).List(t.Context(), connect.NewRequest(&circuitsv1.ListRequest{PageSize: 1000}))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(list.Msg.GetCircuits()); n < 10 {
		t.Errorf("only %d circuits were booked", n)
	}
}

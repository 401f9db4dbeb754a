package whatif

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/services/twin/predict"
)

const (
	page  = "docs/reference/twin.md"
	title = "### A what-if, step by step"
)

// steps are the commands of the page's first code block under the title, one a line.
func steps(t *testing.T, root string) []string {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), title)
	_, block, opened := strings.Cut(section, "```sh\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !opened || !closed {
		t.Fatalf("%s has no code block under %q", page, title)
	}
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(block, "\\\n", " ")), "\n")
}

// The page's commands have the effect that it describes. The command that boots a lab, which `make e2e`
// runs, is answered with the kept result of the last run, unless MILLRACE_WHATIF_LAB is set.
func TestTheDocumentedWhatIf(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	run := func(line string) string {
		cmd := exec.Command("sh", "-ec", line)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "OUT="+bin)
		out, err := cmd.Output()
		if err != nil {
			var said string
			if exit, ok := err.(*exec.ExitError); ok {
				said = string(exit.Stderr)
			}
			t.Fatalf("%s\n%v\n%s%s", line, err, out, said)
		}
		return string(out)
	}
	run("go build -o " + filepath.Join(bin, "millrace") + " ./cmd/millrace")
	var last string
	labs := 0
	for _, line := range steps(t, root) {
		if strings.Contains(line, "millrace lab run") && os.Getenv("MILLRACE_WHATIF_LAB") == "" {
			labs++
			_, to, _ := strings.Cut(line, ">")
			line = "cp scenario/files/geant-lbe-whatif/measured.json " + to
		}
		t.Log(line)
		last = line
		if !strings.Contains(line, "twin compare") {
			run(line)
		}
	}
	if labs > 1 || !strings.Contains(last, "twin compare") {
		t.Fatalf("the last step is %q", last)
	}
	var compared []predict.Compared
	if err := json.Unmarshal([]byte(run(last+" --json")), &compared); err != nil {
		t.Fatal(err)
	}
	if len(compared) != 1 || len(compared[0].Rows) < 8 {
		t.Fatalf("%+v is no comparison of the scenario's nine metrics", compared)
	}
	for _, r := range compared[0].Rows {
		t.Logf("%-34s lab %8.4g twin %8.4g bound %s within %t", r.Metric, r.Lab, r.Twin, r.Bound, r.Within)
	}
	if beyond := compared[0].Outside(); beyond > 1 {
		t.Errorf("%d metrics are beyond their bounds: the prediction does not hold", beyond)
	}
}

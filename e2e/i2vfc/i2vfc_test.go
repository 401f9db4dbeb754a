package i2vfc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/e2e/lab"
)

// The test binary is also what runs inside the labs it boots.
func TestMain(m *testing.M) {
	if lab.Reexec(os.Args[1:]) {
		return
	}
	os.Exit(m.Run())
}

// TestScenarios runs each of paper 001's experiments once; `millrace lab vpn` runs them several times.
func TestScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of an hour; leave -short away")
	}
	t.Chdir("../..")
	binary, err := filepath.Abs("bin/millrace")
	if own := os.Getenv("MILLRACE_BINARY"); own != "" {
		binary = own
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%s is missing: run make build", binary)
	}
	for _, p := range Plans() {
		t.Run(p.Scenario, func(t *testing.T) {
			output, err := filepath.Abs(filepath.Join("out", p.Scenario))
			if err != nil {
				t.Fatal(err)
			}
			r, err := Measure(t.Context(), p, nil, Options{Output: output, Binary: binary, Runs: 1, Progress: func(text string) { t.Log(text) }, Lab: lab.Options{Name: p.Scenario + "-test"}})
			if err != nil {
				t.Fatal(err)
			}
			s, _, err := Load(p.Scenario)
			if err != nil {
				t.Fatal(err)
			}
			r.Judge(s)
			for _, v := range r.Verdicts {
				if t.Log(v); v.Unmet() {
					t.Errorf("%s", v)
				}
			}
		})
	}
}

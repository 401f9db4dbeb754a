package qos

import (
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/e2e/scenario"
)

// Every policy that a shipped scenario names is read, compiled and rendered: a
// policy language that moves on leaves no scenario behind.
func TestEveryShippedScenarioCompiles(t *testing.T) {
	files, err := filepath.Glob("../scenarios/*/scenario.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			s, err := scenario.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			r := &run{scenario: s}
			if err := r.compile(); err != nil {
				t.Error(err)
			}
		})
	}
}

package qos

import (
	"testing"

	"github.com/millrace/millrace/scenario"
)

// Every policy that a shipped scenario names is read, compiled and rendered: a
// policy language that moves on leaves no scenario behind.
func TestEveryShippedScenarioCompiles(t *testing.T) {
	for _, name := range scenario.Names() {
		t.Run(name, func(t *testing.T) {
			s, err := scenario.Load(name)
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

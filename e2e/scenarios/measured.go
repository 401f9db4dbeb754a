// Package scenarios holds the shipped scenarios, and what the lab measured in
// those whose figures the product quotes.
//
// In: measured.json files, written by `make e2e`. Out: metrics. Next: `millrace
// paths host-advice`, the lab's column of `millrace papers`, `millrace twin compare`.
package scenarios

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"time"
)

// Measured is one run of a scenario.
type Measured struct {
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	// Unmet are the scenario's expectations that this run did not meet.
	Unmet   []string           `json:"unmet,omitempty"`
	Metrics map[string]float64 `json:"metrics"`
}

//go:embed */measured.json
var files embed.FS

// MeasuredIn reads the figures of a scenario that has them.
func MeasuredIn(name string) (Measured, error) {
	var m Measured
	raw, err := files.ReadFile(name + "/measured.json")
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		return m, fmt.Errorf("measurements of scenario %s: %w", name, err)
	}
	return m, nil
}

// Kept are the names of the scenarios that have measurements, in order.
func Kept() []string {
	found, _ := fs.Glob(files, "*/measured.json") // the pattern is right
	for i := range found {
		found[i] = path.Dir(found[i])
	}
	return found
}

package scenario

import (
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

// MeasuredIn reads the figures of a shipped scenario that has them.
func MeasuredIn(name string) (Measured, error) {
	var m Measured
	raw, err := fs.ReadFile(shipped(), path.Join(name, "measured.json"))
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		return m, fmt.Errorf("measurements of scenario %s: %w", name, err)
	}
	return m, nil
}

// Kept names the shipped scenarios that have measurements, in order.
func Kept() []string {
	found, _ := fs.Glob(shipped(), "*/measured.json") // the pattern is right
	for i := range found {
		found[i] = path.Dir(found[i])
	}
	return found
}

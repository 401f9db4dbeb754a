package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/e2e/qos"
	"github.com/millrace/millrace/e2e/scenarios"
)

// keepMeasured renews the measured.json of a scenario whose figures the product quotes; others have none.
func keepMeasured(r *qos.Result) error {
	file := filepath.Join("e2e", "scenarios", r.Scenario, "measured.json")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) || !r.Pass {
		return nil
	}
	raw, err := json.MarshalIndent(scenarios.Measured{Scenario: r.Scenario, Started: r.Started, Metrics: r.Metrics}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the measurements of %s: %w", r.Scenario, err)
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millrace/millrace/lab/experiments/i2vfc"
	"github.com/millrace/millrace/lab/experiments/qos"
	"github.com/millrace/millrace/scenario"
)

// quoted are the statistics of applications that pages quote beside those that expectations name.
var quoted = []string{"goodput_mbps", "loss_percent", "rtt_mean_ms", "rtt_sd_ms", "rtt_min_ms", "rtt_p50_ms", "rtt_max_ms", "delay_mean_ms", "delay_spread_ms", "ipdv_mean_ms", "out_of_order", "retransmits", "jain"}

// keepMeasured renews the measured.json of a scenario whose figures the product quotes; others have none. A run that
// missed an expectation does not replace one that met them all.
func keepMeasured(folder string, s *scenario.Scenario, r *qos.Result) error {
	if folder == "" {
		return nil
	}
	file := filepath.Join(folder, r.Scenario, "measured.json")
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var held scenario.Measured
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &held)
	}
	if err != nil {
		return fmt.Errorf("read the kept measurements of %s: %w", r.Scenario, err)
	}
	m := scenario.Measured{Scenario: r.Scenario, Started: r.Started, Metrics: map[string]float64{}}
	for _, v := range r.Verdicts {
		if v.Unmet() {
			m.Unmet = append(m.Unmet, v.Name)
		}
	}
	if !r.Started.After(held.Started) || len(m.Unmet) > 0 && len(held.Metrics) > 0 && len(held.Unmet) == 0 {
		return nil
	}
	for _, e := range s.Expectations {
		for _, name := range e.Names() {
			if v, ok := r.Metrics[name]; ok {
				m.Metrics[name] = v
			}
		}
	}
	for name, v := range r.Metrics {
		if !strings.Contains(name, ":") && slices.Contains(quoted, path.Base(name)) {
			m.Metrics[name] = v
		}
	}
	return keep(file, r.Scenario, m)
}

// keepMedians renews the measured.json of one of paper 001's scenarios.
func keepMedians(folder string, r *i2vfc.Report) error {
	if folder == "" {
		return nil
	}
	m := scenario.Measured{Scenario: r.Scenario, Started: r.Started, Metrics: r.Metrics()}
	for _, v := range r.Verdicts {
		if v.Unmet() {
			m.Unmet = append(m.Unmet, v.Name)
		}
	}
	return keep(filepath.Join(folder, r.Scenario, "measured.json"), r.Scenario, m)
}

package scenario

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
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

// quoted are the statistics of applications that pages quote beside those that expectations name.
var quoted = []string{"goodput_mbps", "loss_percent", "rtt_mean_ms", "rtt_sd_ms", "rtt_min_ms", "rtt_p50_ms", "rtt_max_ms",
	"delay_mean_ms", "delay_spread_ms", "ipdv_mean_ms", "out_of_order", "retransmits", "jain"}

// Measure picks what is worth keeping of a run: what expectations name and pages quote.
func (s *Scenario) Measure(started time.Time, metrics Metrics, verdicts []Verdict) Measured {
	m := Measured{Scenario: s.Name, Started: started, Unmet: Unmet(verdicts), Metrics: map[string]float64{}}
	for _, e := range s.Expectations {
		for _, name := range e.Names() {
			if v, ok := metrics[name]; ok {
				m.Metrics[name] = v
			}
		}
	}
	for name, v := range metrics {
		if !strings.Contains(name, ":") && slices.Contains(quoted, path.Base(name)) {
			m.Metrics[name] = v
		}
	}
	return m
}

// Unmet names the verdicts that were not met.
func Unmet(verdicts []Verdict) []string {
	var out []string
	for _, v := range verdicts {
		if v.Unmet() {
			out = append(out, v.Name)
		}
	}
	return out
}

// Replaces reports whether a run takes the place of an earlier one: it is later, and it does not miss an expectation
// where the earlier one met them all.
func (m Measured) Replaces(earlier Measured) bool {
	return m.Started.After(earlier.Started) && (len(m.Unmet) == 0 || len(earlier.Unmet) > 0 || len(earlier.Metrics) == 0)
}

// MeasuredFile is where a checkout keeps a scenario's figures, below Folder or another folder.
func MeasuredFile(folder, name string) string { return path.Join(folder, name, "measured.json") }

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
func Kept() []string { return keptIn(shipped()) }

// keptIn leaves empty files out: they stand for figures that were not measured yet.
func keptIn(folder fs.FS) (names []string) {
	found, _ := fs.Glob(folder, "*/measured.json") // the pattern is right
	for _, file := range found {
		if info, err := fs.Stat(folder, file); err != nil || info.Size() > 0 { // who reads the file tells the error
			names = append(names, path.Dir(file))
		}
	}
	return names
}

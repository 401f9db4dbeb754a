// Package report turns what a scenario measured into a verdict people and
// programs can read.
//
// In: measurements of the idle, day-one and day-two phases, pairs, paths,
// diffs, counters. Out: report.json, a self-contained report.html and a
// before/after table for the terminal. Next: people, and CI.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Report is report.json. Delays are milliseconds, rates Mbit/s (10^6 bit/s) of TCP payload.
type Report struct {
	Scenario string    `json:"scenario"`
	Backend  string    `json:"backend"`
	Started  time.Time `json:"started"`
	// SecondsTotal is the wall time of the whole job, set-up of the lab included.
	SecondsTotal float64 `json:"seconds_total"`

	PingMS           Phases[Delay]   `json:"ping_ms"`
	AlphaGoodputMbps Phases[float64] `json:"alpha_goodput_mbps"`
	Pairs            []Pair          `json:"pairs"`
	Paths            []Path          `json:"paths"`
	QueueCounters    []QueueCounter  `json:"queue_counters"`
	PortCounters     []PortCounter   `json:"port_counters"`
	// RedirectLatencyS runs from the last NetFlow record of day one to the rule being active,
	// the operator's time to approve not counted.
	RedirectLatencyS float64 `json:"redirect_latency_s"`
	RollbackClean    bool    `json:"rollback_clean"`
	// RollbackDiff shows what differed per router; empty when clean.
	RollbackDiff map[string]string `json:"rollback_diff,omitempty"`
	Change       Change            `json:"change"`
	Checks       []Check           `json:"checks"`
	Pass         bool              `json:"pass"`

	Series Series `json:"series"`
}

// Phases holds one value for each phase; idle is unset where it means nothing.
type Phases[T any] struct {
	Idle T `json:"idle"`
	Day1 T `json:"day1"`
	Day2 T `json:"day2"`
}

// Delay summarises a ping series.
type Delay struct {
	Mean float64 `json:"mean"`
	P99  float64 `json:"p99"`
	SD   float64 `json:"sd"`
	Sent int     `json:"sent"`
	Lost int     `json:"lost"`
}

// Pair is an alpha prefix pair with the evidence it was found by.
type Pair struct {
	ID       string     `json:"id"`
	Src      string     `json:"src"`
	Dst      string     `json:"dst"`
	Ingress  string     `json:"ingress"`
	Evidence []Evidence `json:"evidence"`
}

// Evidence is one flow in one fixed interval above the threshold.
type Evidence struct {
	Interval time.Time `json:"interval"`
	Seconds  float64   `json:"seconds"`
	Flow     string    `json:"flow"`
	Bytes    uint64    `json:"bytes"`
	MinBytes uint64    `json:"min_bytes"`
}

// Path is one LSP as planned.
type Path struct {
	Name   string   `json:"name"`
	Hops   []string `json:"hops"`
	Reason string   `json:"reason"`
}

// QueueCounter is one queue of one port, counted over day two.
type QueueCounter struct {
	Router  string `json:"router"`
	Port    string `json:"port"`
	Queue   string `json:"queue"`
	Octets  uint64 `json:"octets"`
	Packets uint64 `json:"packets"`
	Drops   uint64 `json:"drops"`
}

// PortCounter is what one core port sent in each day.
type PortCounter struct {
	Router string `json:"router"`
	Port   string `json:"port"`
	Day1   uint64 `json:"day1_octets"`
	Day2   uint64 `json:"day2_octets"`
}

// Change is the change set that was pushed.
type Change struct {
	ID      string            `json:"id"`
	Title   string            `json:"title"`
	Reason  string            `json:"reason"`
	History []string          `json:"history"`
	Diffs   map[string]string `json:"diffs"`
}

// Check is one claim of the scenario with the value that decides it.
type Check struct {
	Name     string `json:"name"`
	Measured string `json:"measured"`
	Bound    string `json:"bound"`
	// Source is the paper's value or the argument behind the bound.
	Source string `json:"source"`
	Pass   bool   `json:"pass"`
}

// Series are the plots' data.
type Series struct {
	Ping    Phases[[]Point] `json:"ping_ms"`
	Goodput Phases[[]Point] `json:"goodput_mbps"`
}

// Point is a value at T seconds after the phase began.
type Point struct {
	T float64 `json:"t"`
	V float64 `json:"v"`
}

// Judge sets Pass from the checks; a report without checks does not pass.
func (r *Report) Judge() {
	r.Pass = len(r.Checks) > 0
	for _, c := range r.Checks {
		r.Pass = r.Pass && c.Pass
	}
}

// Write writes report.json and report.html into dir.
func (r *Report) Write(dir string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	page, err := r.html()
	if err != nil {
		return fmt.Errorf("render report.html: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.html"), page, 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

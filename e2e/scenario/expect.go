package scenario

import (
	"fmt"
	"strings"
)

// External is the first part of metrics that do not come from an application
// but from whoever drives the scenario, e.g. external/rollback/clean.
const External = "external"

// statistics are what an application of each kind, and a group, reports.
var statistics = map[Kind][]string{
	Ping:    {"rtt_mean_ms", "rtt_sd_ms", "rtt_min_ms", "rtt_p50_ms", "rtt_p99_ms", "rtt_max_ms", "sent", "received", "loss_percent"},
	TCP:     {"goodput_mbps", "bytes", "retransmits"},
	UDP:     {"goodput_mbps", "bytes", "lost", "sent", "loss_percent", "jitter_ms"},
	"group": {"goodput_mbps", "bytes"},
}

// Metrics maps PHASE/APPLICATION/STATISTIC to a number; a group's name stands
// where an application's does.
type Metrics map[string]float64

var compare = map[string]func(got, want float64) bool{
	"<":  func(got, want float64) bool { return got < want },
	"<=": func(got, want float64) bool { return got <= want },
	">":  func(got, want float64) bool { return got > want },
	">=": func(got, want float64) bool { return got >= want },
	"==": func(got, want float64) bool { return got == want },
}

// Verdict is an expectation held against measurements.
type Verdict struct {
	Expectation Expectation `json:"-"`
	Name        string      `json:"name"`
	Source      string      `json:"source,omitempty"`
	// Skipped says why there is no verdict: a phase that was not run.
	Skipped string  `json:"skipped,omitempty"`
	Got     float64 `json:"got"`
	Want    float64 `json:"want"`
	Op      string  `json:"op"`
	Pass    bool    `json:"pass"`
}

// Judge compares every expectation with what was measured. An expectation whose
// metric is missing is skipped, never passed.
func (s *Scenario) Judge(m Metrics) []Verdict {
	verdicts := make([]Verdict, 0, len(s.Expectations))
	for _, e := range s.Expectations {
		verdicts = append(verdicts, e.judge(m))
	}
	return verdicts
}

func (e Expectation) judge(m Metrics) Verdict {
	v := Verdict{Expectation: e, Name: e.Name, Source: e.Source, Op: e.Op, Want: e.Value}
	var missing []string
	take := func(name string) float64 {
		n, ok := m[name]
		if !ok {
			missing = append(missing, name)
		}
		return n
	}
	v.Got = take(e.Metric)
	if e.Of != "" {
		v.Want = e.Factor * take(e.Of)
	}
	if len(missing) > 0 {
		v.Skipped = "not measured: " + strings.Join(missing, ", ")
		return v
	}
	v.Pass = compare[e.Op](v.Got, v.Want)
	return v
}

func (v Verdict) String() string {
	if v.Skipped != "" {
		return fmt.Sprintf("%s: %s", v.Name, v.Skipped)
	}
	return fmt.Sprintf("%s: %.4g %s %.4g: %t", v.Name, v.Got, v.Op, v.Want, v.Pass)
}

package scenario

import (
	"fmt"
	"math"
	"strings"
)

// External is the first part of metrics that do not come from an application
// but from the program that drives the scenario, e.g. external/rollback/clean.
const External = "external"

// Network is the second part of metrics that sum over a phase's udp streams and over all links.
const Network = "network"

// MiddleRate is the median of the rate at which frames arrived, over tenths of a second.
const MiddleRate = "frame_mbps_p50"

// statistics are what an application of each kind, and a group, reports.
var statistics = map[Kind][]string{
	Ping: {"rtt_mean_ms", "rtt_sd_ms", "rtt_min_ms", "rtt_p50_ms", "rtt_p99_ms", "rtt_max_ms", "sent", "received", "loss_percent"},
	TCP:  {"goodput_mbps", "bytes", "retransmits", "out_of_order"},
	UDP: append([]string{"goodput_mbps", "bytes", "lost", "sent", "received", "duplicates", "reordered", "loss_percent", "received_percent",
		"frame_octets", "dscp", "dscp_changed", "socket_dropped"}, distributed("delay", "ipdv")...),
	"group":   {"goodput_mbps", "bytes", "jain", "sent", "received", "lost", "loss_percent", "received_percent", "frame_octets"},
	"queue":   {"transmit_pkts", "transmit_octets", "dropped_pkts"},
	"policer": {"conforming_pkts", "conforming_octets", "exceeding_pkts", "exceeding_octets", "violating_pkts", "violating_octets"},
	"term":    {"matched_packets", "matched_octets"},
	"port":    {"out_pkts", "out_octets", "in_pkts", "in_octets", "dropped_pkts", "wire_dropped_pkts"},
	"network": {"sent", "received", "lost", "dropped_pkts", MiddleRate},
	"change":  {"seconds", "entries"},
}

// windowed are the statistics that can be asked of a part of a phase.
var windowed = []string{"goodput_mbps", "bytes", "retransmits", "sent", "received", "lost", "loss_percent", "received_percent",
	"delay_mean_ms", "delay_min_ms", "delay_max_ms", "delay_spread_ms", "rtt_mean_ms", "rtt_sd_ms", "rtt_min_ms", "rtt_p50_ms", "rtt_p99_ms", "rtt_max_ms", "jain", MiddleRate}

func distributed(names ...string) (all []string) {
	for _, name := range names {
		for _, stat := range []string{"mean", "sd", "min", "p50", "p99", "max", "spread"} {
			all = append(all, name+"_"+stat+"_ms")
		}
	}
	return all
}

// Metrics maps PHASE/APPLICATION/STATISTIC to a number; a group's name stands
// where an application's does.
type Metrics map[string]float64

var compare = map[string]func(got, want, tolerance float64) bool{
	"<":       func(got, want, _ float64) bool { return got < want },
	"<=":      func(got, want, _ float64) bool { return got <= want },
	">":       func(got, want, _ float64) bool { return got > want },
	">=":      func(got, want, _ float64) bool { return got >= want },
	"==":      func(got, want, _ float64) bool { return got == want },
	"within":  func(got, want, t float64) bool { return math.Abs(got-want) <= t },
	"within%": func(got, want, t float64) bool { return math.Abs(got-want) <= math.Abs(want)*t/100 },
}

// Verdict is an expectation held against measurements.
type Verdict struct {
	Expectation Expectation `json:"-"`
	Name        string      `json:"name"`
	Metric      string      `json:"metric"`
	Source      string      `json:"source,omitempty"`
	Paper       string      `json:"paper,omitempty"`
	// Observed says why a claim is reported and not judged.
	Observed string `json:"observed,omitempty"`
	// Skipped says why there is no verdict: a phase that was not run.
	Skipped   string  `json:"skipped,omitempty"`
	Got       float64 `json:"got"`
	Want      float64 `json:"want"`
	Op        string  `json:"op"`
	Tolerance float64 `json:"tolerance,omitempty"`
	Pass      bool    `json:"pass"`
}

// Bound is the claim in words: "<= 3", "50 ± 2".
func (v Verdict) Bound() string {
	switch v.Op {
	case "within":
		return fmt.Sprintf("%.4g ± %.3g", v.Want, v.Tolerance)
	case "within%":
		return fmt.Sprintf("%.4g ± %.3g %%", v.Want, v.Tolerance)
	}
	return fmt.Sprintf("%s %.4g", v.Op, v.Want)
}

// Result is the verdict in words.
func (v Verdict) Result() string {
	switch {
	case v.Skipped != "":
		return "left out"
	case v.Observed != "":
		return "observed"
	case v.Pass:
		return "met"
	}
	return "NOT MET"
}

// Unmet tells a claim that was judged and does not hold.
func (v Verdict) Unmet() bool { return v.Skipped == "" && v.Observed == "" && !v.Pass }

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
	v := Verdict{Expectation: e, Name: e.Name, Metric: e.Metric, Source: e.Source, Paper: e.Paper, Observed: e.Observed,
		Op: e.Op, Want: e.Value, Tolerance: e.Tolerance}
	var missing []string
	take := func(sum string) (n float64) {
		for _, name := range terms(sum) {
			value, ok := m[name]
			if !ok {
				missing = append(missing, name)
			}
			n += value
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
	v.Pass = compare[e.Op](v.Got, v.Want, e.Tolerance)
	return v
}

// Names are the metrics that the expectation is about, each by itself.
func (e Expectation) Names() []string { return append(terms(e.Metric), terms(e.Of)...) }

// terms are the metrics of a sum.
func terms(sum string) []string {
	if sum == "" {
		return nil
	}
	return strings.Split(sum, " + ")
}

func (v Verdict) String() string {
	if v.Skipped != "" {
		return fmt.Sprintf("%s: %s", v.Name, v.Skipped)
	}
	return fmt.Sprintf("%s: %.4g, %s: %s", v.Name, v.Got, v.Bound(), v.Result())
}

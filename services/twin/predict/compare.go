package predict

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/millrace/millrace/scenario"
)

// Comparison is one metric of a scenario as the lab measured it and as the twin has it.
type Comparison struct {
	Metric string  `json:"metric"`
	Lab    float64 `json:"lab"`
	Twin   float64 `json:"twin"`
	Bound  string  `json:"bound"`
	Within bool    `json:"within"`
	// Why is the best explanation of a difference beyond the bound.
	Why string `json:"why,omitempty"`
}

// Compared is one scenario's table.
type Compared struct {
	Scenario string `json:"scenario"`
	// Measured is when the lab ran.
	Measured string       `json:"measured"`
	Rows     []Comparison `json:"rows"`
	// Left is why there is no table.
	Left string `json:"left_out,omitempty"`
}

// Outside counts rows beyond their bound.
func (c Compared) Outside() (n int) {
	for _, r := range c.Rows {
		if !r.Within {
			n++
		}
	}
	return n
}

// bound is how far twin and lab may be apart: a part of the lab's value or so much, whichever is more; or a factor.
type bound struct {
	relative, absolute, factor float64
	why                        string
}

func (b bound) String() string {
	if b.factor > 0 {
		return fmt.Sprintf("a factor of %g or %g", b.factor, b.absolute)
	}
	if b.relative == 0 {
		return fmt.Sprintf("%g", b.absolute)
	}
	return fmt.Sprintf("%g %% or %g", 100*b.relative, b.absolute)
}

func (b bound) holds(lab, twin float64) bool {
	apart := math.Abs(lab - twin)
	if apart <= math.Max(b.relative*math.Abs(lab), b.absolute) {
		return true
	}
	return b.factor > 0 && lab > 0 && twin > 0 && lab/twin <= b.factor && twin/lab <= b.factor
}

// Bounds by statistic, argued from what the lab is: frames of 9000 bytes (0.72 ms at 100 Mbit/s), programs that wake a
// millisecond late, one run.
var bounds = map[string]bound{
	"goodput_mbps":      {0.10, 1, 0, "a tenth: TCP's start and each of its few losses weigh so much in 5 to 20 s; 1 Mbit/s where the link is left to others"},
	"rtt_mean_ms":       {0.25, 3, 0, "a quarter: the sawtooth of one run; 3 ms are four frames and a late program"},
	"rtt_sd_ms":         {0.5, 3, 0, "half: the sawtooth of one run; 3 ms are four frames and a late program"},
	"rtt_p50_ms":        {0.10, 3, 0, "a tenth: a full buffer less the frame that does not fit; 3 ms are four frames and a late program"},
	"rtt_p99_ms":        {0.10, 3, 0, "a tenth: a full buffer less the frame that does not fit; 3 ms are four frames and a late program"},
	"delay_p99_ms":      {0, 20, 2, "extremes of one run: a factor of two; 20 ms are what a stall of the machine under the lab costs"},
	"delay_spread_ms":   {0, 40, 2, "extremes of one run: a factor of two; 40 ms are the longest stall of the machine under the lab that its expectations allow"},
	"loss_percent":      {0, 2.5, 0, "points: the bound of the lab's own expectations"},
	"lost":              {0.05, 10, 0, "a twentieth: buffers against rates; ten packets are one burst of a late program"},
	"sent":              {0.001, 2, 0, "what was to be sent"},
	"dropped_pkts":      {0.10, 20, 0, "a tenth, as goodput; twenty packets are two overshoots of a slow start at this scale"},
	"transmit_pkts":     {0.05, 20, 0, "a twentieth: the link rate over the phase; twenty are routing and pings"},
	"transmit_octets":   {0.05, 200_000, 0, "a twentieth: the link rate over the phase"},
	"frame_octets":      {0.05, 200_000, 0, "a twentieth: the link rate over the phase"},
	"bytes":             {0.10, 1_000_000, 0, "as goodput"},
	"retransmits":       {0, 60, 2, "random losses of one run: a factor of two; 60 are one overshoot of a window of frames"},
	"out_of_order":      {0, 60, 2, "random losses of one run: a factor of two; 60 are one overshoot of a window of frames"},
	"jain":              {0, 0.05, 0, "a throughput ratio of 1.6 instead of 1.4"},
	"dscp":              {0, 0, 0, "exact"},
	"dscp_changed":      {0, 0, 0, "exact"},
	"reordered":         {0, 0, 0, "exact"},
	"conforming_octets": {0.02, 31_000, 0, "the policer's rate over the time it is loaded, and a burst"},
}

// known are differences that have an explanation, by the beginning of scenario/metric.
var known = []struct{ begin, why string }{
	{"hntes-exp2/two-queues/ping", "beta has its turn once per 20 frames of alpha's, 14 ms at a hundredth of the rate; HTB on a virtual link meters rates, and no link is ever busy (see [the twin](../explanation/twin.md))"},
	{"hntes-exp7/two-queues/ping", "as in hntes-exp2: the order of service at a hundredth of the rate"},
	{"geant-lbe-congestion/", "the machine under the lab stalls for tens of milliseconds now and then, which an extreme shows; the twin's does not"},
	{"geant-lbe-transparency/congested", "two constant streams into one first-in first-out buffer: who meets the last free place depends on how their packets interleave, in the lab as in the twin; the sum of both losses is the overload"},
	{"hntes-exp6/", "as in hntes-exp2: beta's turn, and in the lab stalls of the machine that delay a ping"},
}

// beyond is for differences between the kernels' TCP and the twin's.
const beyond = "Linux 6 in the lab has PRR, RACK and pacing of its own retransmissions, the twin RFC 6675; after a loss they have other windows for a second, which at this scale is a tenth of the run"

// Compare runs a scenario in the twin and holds what its expectations name against what the lab measured of it.
func Compare(ctx context.Context, s *scenario.Scenario, kept scenario.Measured, o Options) (Compared, error) {
	out := Compared{Scenario: s.Name, Measured: kept.Started.UTC().Format("2006-01-02 15:04")}
	if err := Check(s); err != nil {
		out.Left = err.Error()
		return out, nil
	}
	r, err := Run(ctx, s, o)
	if err != nil {
		return out, err
	}
	seen := map[string]bool{}
	for _, e := range s.Expectations {
		for _, metric := range e.Names() {
			statistic, _, _ := strings.Cut(path.Base(metric), "@")
			b, judged := bounds[statistic]
			lab, measured := kept.Metrics[metric]
			twin, simulated := r.Metrics[metric]
			if seen[metric] || !judged || !measured || !simulated {
				continue
			}
			seen[metric] = true
			c := Comparison{Metric: metric, Lab: lab, Twin: twin, Bound: b.String(), Within: b.holds(lab, twin)}
			if !c.Within {
				c.Why = explain(s.Name + "/" + metric)
			}
			out.Rows = append(out.Rows, c)
		}
	}
	return out, nil
}

func explain(metric string) string {
	for _, k := range known {
		if strings.HasPrefix(metric, k.begin) {
			return k.why
		}
	}
	if strings.Contains(metric, "/tcp") || strings.Contains(metric, ":alpha/") || strings.Contains(metric, ":ss/") {
		return beyond
	}
	return ""
}

const comparePreamble = `# Twin and lab

Written by ` + "`millrace twin compare --page docs/reference/twin-lab.md`" + `; do not edit. The lab's scenarios run in [the twin](twin.md) (seed 1), and beside each metric
that their expectations name what virtual routers measured ([lab results](lab-results.md), kept in ` + "`scenario/files/*/measured.json`" + `). Bounds are by statistic, argued
before they were applied, and stand at the end; what is beyond its bound stands there as such.

| scenario | metrics | within | beyond | lab run (UTC) |
|---|---|---|---|---|
`

// ComparePage is docs/reference/twin-lab.md.
func ComparePage(all []Compared) string {
	var b strings.Builder
	b.WriteString(comparePreamble)
	rows, outside := 0, 0
	for _, c := range all {
		fmt.Fprintf(&b, "| [%s](#%s) | %d | %d | %d | %s |\n", c.Scenario, c.Scenario, len(c.Rows), len(c.Rows)-c.Outside(), c.Outside(), c.Measured)
		rows, outside = rows+len(c.Rows), outside+c.Outside()
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d | |\n", rows, rows-outside, outside)
	for _, c := range all {
		c.section(&b)
	}
	b.WriteString("\n## Bounds\n\n| statistic | bound, the larger one | why |\n|---|---|---|\n")
	for _, name := range sortedBounds() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, bounds[name], bounds[name].why)
	}
	return b.String()
}

func (c Compared) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n", c.Scenario)
	if c.Left != "" {
		fmt.Fprintf(b, "Not simulated: %s\n", c.Left)
		return
	}
	b.WriteString("| metric | lab | twin | bound | |\n|---|---|---|---|---|\n")
	var whys []string
	for _, r := range c.Rows {
		verdict := "within"
		if !r.Within {
			verdict = "**beyond**"
			if r.Why != "" {
				whys = append(whys, r.Why)
			}
		}
		fmt.Fprintf(b, "| %s | %.5g | %.5g | %s | %s |\n", r.Metric, r.Lab, r.Twin, r.Bound, verdict)
	}
	written := map[string]bool{}
	for _, why := range whys {
		if !written[why] {
			fmt.Fprintf(b, "\nBeyond: %s.\n", why)
			written[why] = true
		}
	}
}

func sortedBounds() []string { return slices.Sorted(maps.Keys(bounds)) }

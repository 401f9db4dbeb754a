// Package score is the scoreboard's arithmetic: a published number, what was
// simulated, and whether the two agree within a tolerance that was argued before.
//
// In: rows and measured values. Out: verdicts and totals. Next: papers,
// which prints them.
package score

import (
	"fmt"
	"math"
)

// Row is one published number, written down before anything is run.
type Row struct {
	// Key names the measured value; unique within its experiment.
	Key string `json:"key"`
	// Item is where the paper has it, What what it is.
	Item string `json:"item"`
	What string `json:"what"`
	Unit string `json:"unit,omitempty"`
	// Paper is the published value.
	Paper float64 `json:"paper"`
	// Op is how the value is compared: near (the default), or at least and at most for claims with a bound.
	Op Op `json:"op,omitempty"`
	// Relative and Absolute are the tolerance of near, whichever is more.
	Relative float64 `json:"relative,omitempty"`
	Absolute float64 `json:"absolute,omitempty"`
	// Rationale argues the tolerance.
	Rationale string `json:"rationale,omitempty"`
	// Caveat is a defect of the number itself: a contradiction in the paper, a value that depends on what
	// the paper does not state.
	Caveat string `json:"caveat,omitempty"`
	// Explanation is the best one of a difference.
	Explanation string `json:"explanation,omitempty"`
}

// Op is a comparison.
type Op string

// The comparisons.
const (
	Near    Op = ""
	AtLeast Op = ">="
	AtMost  Op = "<="
)

// Lab is what virtual routers measured for a row.
type Lab struct {
	// Value is in the row's unit, scaled up.
	Value float64 `json:"value"`
	// Scenario was run at Scale of the paper's rates at the time of Measured (UTC).
	Scenario string `json:"scenario"`
	Scale    string `json:"scale"`
	Measured string `json:"measured"`
}

// Verdict is a row with what came out.
type Verdict struct {
	Row
	Experiment string  `json:"experiment"`
	Twin       float64 `json:"twin"`
	// Missing means that nothing was measured; why stands in Explanation.
	Missing bool `json:"missing,omitempty"`
	// Error is relative to the paper's value, or absolute where that is zero.
	Error  float64 `json:"error"`
	Within bool    `json:"within"`
	// Lab is there where the lab runs the experiment.
	Lab *Lab `json:"lab,omitempty"`
}

// Values are an experiment's measurements.
type Values map[string]float64

// Judge holds a row against values.
func Judge(experiment string, r Row, v Values) Verdict {
	out := Verdict{Row: r, Experiment: experiment}
	got, measured := v[r.Key]
	if !measured || math.IsNaN(got) || math.IsInf(got, 0) { // a division by nothing
		out.Missing = true
		return out
	}
	out.Twin = got
	out.Error = got - r.Paper
	if r.Paper != 0 {
		out.Error /= math.Abs(r.Paper)
	}
	switch r.Op {
	case AtLeast:
		out.Within = got >= r.Paper
	case AtMost:
		out.Within = got <= r.Paper
	default:
		out.Within = math.Abs(got-r.Paper) <= math.Max(r.Relative*math.Abs(r.Paper), r.Absolute)
	}
	return out
}

// Tolerance in words.
func (r Row) Tolerance() string {
	switch {
	case r.Op != Near:
		return string(r.Op)
	case r.Relative > 0 && r.Absolute > 0:
		return fmt.Sprintf("±%g %% or ±%g", 100*r.Relative, r.Absolute)
	case r.Relative > 0:
		return fmt.Sprintf("±%g %%", 100*r.Relative)
	}
	return fmt.Sprintf("±%g", r.Absolute)
}

// Totals count verdicts.
type Totals struct {
	Rows    int `json:"rows"`
	Within  int `json:"within"`
	Outside int `json:"outside"`
	Missing int `json:"missing"`
}

// Count adds a verdict.
func (t *Totals) Count(v Verdict) {
	t.Rows++
	switch {
	case v.Missing:
		t.Missing++
	case v.Within:
		t.Within++
	default:
		t.Outside++
	}
}

// Jain is the weighted fairness index of paper 001, equation 1, and with weights of one that of paper 002, equation 3.
func Jain(x, weights []float64) float64 {
	var sum, squares float64
	for i, v := range x {
		if weights != nil {
			v /= weights[i]
		}
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / float64(len(x)) / squares
}

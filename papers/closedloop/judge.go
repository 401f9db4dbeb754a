package closedloop

import "fmt"

// Finding holds the loop against one fixed split under one load.
type Finding struct {
	Load  string `json:"load"`
	Fixed string `json:"fixed"`
	// NeverWorse: beta lost no more in any hour, and its mean delay was no longer, but for Tolerance.
	NeverWorse bool `json:"beta_never_worse"`
	// Alpha is how much more alpha got than under the fixed split, Gbit/s; Beta how much more beta got.
	Alpha float64 `json:"alpha_more_gbps"`
	Beta  float64 `json:"beta_more_gbps"`
	Text  string  `json:"text"`
}

// What two runs may differ by though nothing is worse. A packet that meets the beginning of another one waits for up to
// 1.2 microseconds and, where alpha's credit has priority, for a burst of eight packets: 0.01 ms. One packet in 10,000
// is what a single full buffer of a step costs.
const (
	delayTolerance = 0.05 // ms
	lossTolerance  = 0.01 // percent
)

// judge compares the loop's row with the fixed ones of its load.
func judge(rows []Row) (out []Finding) {
	for _, loop := range rows {
		if loop.Split != Loop {
			continue
		}
		for _, fixed := range rows {
			if fixed.Load == loop.Load && fixed.Split != Loop {
				out = append(out, find(loop, fixed))
			}
		}
	}
	return out
}

func find(loop, fixed Row) Finding {
	f := Finding{
		Load: loop.Load, Fixed: fixed.Split, Alpha: loop.Alpha - fixed.Alpha, Beta: loop.Beta - fixed.Beta,
		NeverWorse: loop.Loss <= fixed.Loss+lossTolerance && loop.Ping <= fixed.Ping+delayTolerance && loop.PingMost <= fixed.PingMost+1,
	}
	for h := range loop.byHour {
		f.NeverWorse = f.NeverWorse && loop.byHour[h] <= fixed.byHour[h]+lossTolerance
	}
	beta := "never worse"
	if !f.NeverWorse {
		beta = "worse"
	}
	f.Text = fmt.Sprintf("beta %s (loss %.3g instead of %.3g %%, ping %.2f instead of %.2f ms), alpha %+.2f Gbit/s, beta %+.2f", beta, loop.Loss, fixed.Loss, loop.Ping, fixed.Ping, f.Alpha, f.Beta)
	return f
}

// NeverWorse reports whether beta was worse nowhere.
func (r *Result) NeverWorse() bool {
	for _, f := range r.Findings {
		if !f.NeverWorse {
			return false
		}
	}
	return true
}

// Shares is what beta was guaranteed, as text.
func (r Row) Shares() string {
	if r.Least == r.Most {
		return fmt.Sprintf("%d %%", r.Least)
	}
	return fmt.Sprintf("%d to %d %%", r.Least, r.Most)
}

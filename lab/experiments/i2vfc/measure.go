package i2vfc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scenario"
)

// Report is all runs of a scenario, and its expectations held against their medians.
type Report struct {
	Scenario    string             `json:"scenario"`
	Description string             `json:"description"`
	Scale       string             `json:"scale"`
	Started     time.Time          `json:"started"`
	Cells       []Cell             `json:"cells"`
	Verdicts    []scenario.Verdict `json:"verdicts"`
	Pass        bool               `json:"pass"`
}

// Cell is one setting of one variant, and all its runs.
type Cell struct {
	Name string    `json:"name"`
	Runs []Figures `json:"runs"`
}

// Figures are read off one run.
type Figures struct {
	Started time.Time `json:"started"`
	// Mode is how agents enforced rates; empty without them.
	Mode string `json:"mode,omitempty"`
	// Inter is F among VPNs, Intra among a VPN's connections, the mean
	// over VPNs that have several; both of each Plan.Every seconds.
	Inter float64 `json:"inter_f"`
	Intra float64 `json:"intra_f,omitempty"`
	// Total is goodput, Mbit/s.
	Total float64 `json:"goodput_mbps"`
	// Converged is after how many seconds from the VPNs' start F of 5 s is above 0.95 and stays there; 999 is never.
	Converged float64 `json:"converged_s"`
	// F is over time, of 5 s each.
	F []float64 `json:"f_of_5_s"`
}

// Measure runs a plan: each variant in a lab of its own.
func Measure(ctx context.Context, p Plan, variants []string, o Options) (*Report, error) {
	report := &Report{Scenario: p.Scenario, Started: time.Now().UTC()}
	for _, v := range p.Variants {
		if len(variants) > 0 && !slices.Contains(variants, v.Name) {
			continue
		}
		s, policy, err := Load(p.Scenario)
		if err != nil {
			return nil, err
		}
		report.Description, report.Scale = s.Description, s.Scale
		if v.Change != nil {
			policy = v.Change(s, policy)
		}
		o := o
		o.Weights, o.Settings = policy, p.Settings
		o.Lab = lab.Options{Name: o.Lab.Name, Backend: o.Lab.Backend}
		results, err := Run(ctx, s, o)
		for _, r := range results {
			o.Progress(r.Table() + r.Flows)
			f := p.figures(r)
			report.add(v.cell(r), f)
		}
		if err != nil {
			return report, fmt.Errorf("%s %s: %w", p.Scenario, v.Name, err)
		}
	}
	return report, nil
}

// Load reads a shipped scenario and the text of its VPNs' weights, empty where all are equal.
func Load(name string) (*scenario.Scenario, []byte, error) {
	s, err := scenario.Load(name)
	if err != nil {
		return nil, nil, err
	}
	weights, err := fs.ReadFile(s.Files, "weights.yaml")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read weights: %w", err)
	}
	return s, weights, nil
}

// never is longer than any run.
const never = 999

func (p Plan) figures(r *Result) Figures {
	f := Figures{Started: r.Started, Mode: r.mode(), Inter: r.F(p.From, p.To, p.Every), Total: r.Total(p.From, p.To), Converged: never}
	for s := 1; s+5 <= p.To; s += 5 {
		f.F = append(f.F, r.F(s, s+5, 5))
	}
	for i := len(f.F) - 1; i >= 0 && f.F[i] >= 0.95; i-- {
		f.Converged = float64(5 * i)
	}
	n := 0.0
	for _, v := range r.VPNs {
		if len(r.series(v)) > 1 {
			f.Intra += r.Intra(v, p.From, p.To, p.Every)
			n++
		}
	}
	if n > 0 {
		f.Intra /= n
	}
	return f
}

// mode is what the agents chose, as they report it.
func (r *Result) mode() string {
	_, mode, _ := strings.Cut(r.Flows, "  mode ")
	mode, _, _ = strings.Cut(mode, "\n")
	return mode
}

func (r *Report) add(cell string, f Figures) {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Name == cell })
	if i < 0 {
		i = len(r.Cells)
		r.Cells = append(r.Cells, Cell{Name: cell})
	}
	r.Cells[i].Runs = append(r.Cells[i].Runs, f)
}

// Join takes in an earlier report's runs of cells that this one has not measured.
func (r *Report) Join(earlier *Report) {
	for _, c := range earlier.Cells {
		if !slices.ContainsFunc(r.Cells, func(own Cell) bool { return own.Name == c.Name }) {
			r.Cells = append(r.Cells, c)
		}
	}
}

// Metrics are the medians, by CELL/STATISTIC.
func (r *Report) Metrics() map[string]float64 {
	m := map[string]float64{}
	for _, c := range r.Cells {
		for name, of := range statistics {
			m[c.Name+"/"+name], _, _ = c.median(of)
		}
	}
	return m
}

// Judge holds the medians against a scenario's expectations.
func (r *Report) Judge(s *scenario.Scenario) {
	m := scenario.Metrics{}
	for name, v := range r.Metrics() {
		m[scenario.External+"/"+name] = v
	}
	r.Verdicts, r.Pass = s.Judge(m), true
	for _, v := range r.Verdicts {
		r.Pass = r.Pass && !v.Unmet()
	}
}

var statistics = map[string]func(Figures) float64{
	"inter_f":      func(f Figures) float64 { return f.Inter },
	"intra_f":      func(f Figures) float64 { return f.Intra },
	"goodput_mbps": func(f Figures) float64 { return f.Total },
	"converged_s":  func(f Figures) float64 { return f.Converged },
}

// sorted is a statistic of all of a cell's runs.
func (c Cell) sorted(of func(Figures) float64) (all []float64) {
	for _, f := range c.Runs {
		all = append(all, of(f))
	}
	slices.Sort(all)
	return all
}

// median of a cell's runs, and their range.
func (c Cell) median(of func(Figures) float64) (middle, low, high float64) {
	all := c.sorted(of)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2, all[0], all[n-1]
}

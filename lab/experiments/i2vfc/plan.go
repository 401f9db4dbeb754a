package i2vfc

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/scenario"
)

// Plan is what is run of a scenario, and what is read off it.
type Plan struct {
	Scenario string
	Variants []Variant
	// Settings are repeated, Once are not.
	Settings, Once []Setting
	// From and To are the seconds of the phase that count; the VPNs start at 1 s.
	From, To int
	// Every is the span in seconds over which throughputs are averaged
	// before F is taken of them, as in the paper's figure.
	Every int
}

// Variant is a change of the scenario; the first of most plans changes nothing.
type Variant struct {
	Name   string
	Change func(*scenario.Scenario, []byte) []byte
}

// Plans are paper 001's experiments.
func Plans() []Plan {
	return []Plan{
		// Figures 3 and 4 plot F of each second over 50 s; at a fifth of the rate five seconds carry as many packets.
		{Scenario: "i2vfc-single", Variants: []Variant{{}}, Settings: []Setting{{0.1, 0.1}}, Once: []Setting{{0.1, 0.25}, {0.01, 0.1}, {1, 0.1}, {0.01, 0.25}, {1, 0.25}}, From: 6, To: 51, Every: 5},
		{Scenario: "i2vfc-intra", Variants: []Variant{{}}, Settings: []Setting{{0.1, 0.1}}, From: 6, To: 51, Every: 1},
		// Figure 8: converged after 10 s.
		{Scenario: "i2vfc-multi", Variants: []Variant{thirdLink(10), thirdLink(20), thirdLink(30)}, Settings: []Setting{{0.5, 0.05}}, From: 11, To: 31, Every: 5},
		// Figure 11 averages over 2 s, and the last VPN starts at 16 s; equal by 25 s after the first start.
		{Scenario: "i2vfc-prototype", Variants: []Variant{{}}, Settings: []Setting{{0.1, 0.1}}, From: 26, To: 46, Every: 2},
	}
}

// PlanOf finds a scenario's plan.
func PlanOf(name string) (Plan, error) {
	all := Plans()
	i := slices.IndexFunc(all, func(p Plan) bool { return p.Scenario == name })
	if i < 0 {
		return Plan{}, fmt.Errorf("scenario %s is not one of paper 001's", name)
	}
	return all[i], nil
}

// thirdLink is B3 of figure 7, in Mbit/s; the scenario says 30.
func thirdLink(mbps int) Variant {
	return Variant{fmt.Sprintf("B3-%d", mbps), func(s *scenario.Scenario, policy []byte) []byte {
		s.Links[2].Rate = units.Rate(mbps) * 1e6
		return bytes.Replace(policy, []byte("30Mbit/s"), fmt.Appendf(nil, "%dMbit/s", mbps), 1)
	}}
}

// cell names a variant and a setting in metrics and tables.
func (v Variant) cell(r *Result) string {
	name := r.Name
	if r.Name == "with" {
		name = fmt.Sprintf("a%g-b%g", r.Setting.A, r.Setting.B)
	}
	if v.Name != "" {
		name = v.Name + "-" + name
	}
	return name
}

// Package weights reads what operators write about sharing the core among VPNs
// and turns every criterion into weights, which is all the control law knows.
//
// In: policies/vpn/*.yaml. Out: Policy. Next: services/peagent.
package weights

import (
	"fmt"
	"os"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/peagent/law"
)

// Max is the largest weight.
const Max = 1e6

// Criterion says what fair is.
type Criterion string

// The criteria.
const (
	// Weighted: throughputs in the ratio of the weights.
	Weighted Criterion = "weighted"
	// Equal: all weights 1.
	Equal Criterion = "equal"
	// MaxMin: weights are the max-min fair rates over the links the file lists (paper 001, table III).
	MaxMin Criterion = "max-min"
)

// Policy is the outcome.
type Policy struct {
	Name      string
	Criterion Criterion
	Weights   map[string]float64 // by VPN
}

// file is a policy as written; schema.json has the words.
type file struct {
	Policy      string     `yaml:"policy"`
	Description string     `yaml:"description"`
	Criterion   Criterion  `yaml:"criterion"`
	VPNs        []customer `yaml:"vpns"`
	Links       []link     `yaml:"links"`
}

type customer struct {
	Name   string   `yaml:"name"`
	Weight float64  `yaml:"weight"`
	Links  []string `yaml:"links"`
}

type link struct {
	Name string     `yaml:"name"`
	Rate units.Rate `yaml:"rate"`
}

// Load reads a policy file.
func Load(path string) (Policy, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Policy{}, fmt.Errorf("read weights: %w", err)
	}
	p, err := Parse(raw)
	if err != nil {
		return Policy{}, fmt.Errorf("weights %s: %w", path, err)
	}
	return p, nil
}

// Parse reads a policy's text; unknown keys fail.
func Parse(text []byte) (Policy, error) {
	f := file{Criterion: Weighted}
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		return Policy{}, err
	}
	p := Policy{Name: f.Policy, Criterion: f.Criterion, Weights: map[string]float64{}}
	for i := range f.VPNs {
		v := &f.VPNs[i]
		if v.Weight == 0 {
			v.Weight = 1
		}
		if _, twice := p.Weights[v.Name]; twice || v.Name == "" {
			return Policy{}, fmt.Errorf("VPN %q has no name or stands there twice", v.Name)
		}
		if !(v.Weight > 0 && v.Weight <= Max) {
			return Policy{}, fmt.Errorf("weight %g of VPN %s: use more than 0 and at most %g", v.Weight, v.Name, float64(Max))
		}
		p.Weights[v.Name] = v.Weight
	}
	switch f.Criterion {
	case Weighted:
	case Equal:
		for name := range p.Weights {
			p.Weights[name] = 1
		}
	case MaxMin:
		return p, f.maxMin(p.Weights)
	default:
		return Policy{}, fmt.Errorf("criterion %q: use %s, %s or %s", f.Criterion, Weighted, Equal, MaxMin)
	}
	return p, nil
}

// maxMin fills in rates as weights, scaled so that the smallest is 1.
func (f file) maxMin(into map[string]float64) error {
	capacity := make([]float64, len(f.Links))
	routes := make([]law.Route, len(f.VPNs))
	for i, l := range f.Links {
		capacity[i] = float64(l.Rate)
	}
	for i, v := range f.VPNs {
		routes[i].Weight = v.Weight
		for _, name := range v.Links {
			at := slices.IndexFunc(f.Links, func(l link) bool { return l.Name == name })
			if at < 0 {
				return fmt.Errorf("VPN %s crosses link %s, which is not in the list of links", v.Name, name)
			}
			routes[i].Links = append(routes[i].Links, at)
		}
	}
	rates, err := law.MaxMin(capacity, routes)
	if err != nil {
		return err
	}
	if len(rates) == 0 || slices.Min(rates) <= 0 {
		return fmt.Errorf("a VPN gets nothing: every link needs a rate")
	}
	for i, v := range f.VPNs {
		into[v.Name] = rates[i] / slices.Min(rates)
	}
	return nil
}

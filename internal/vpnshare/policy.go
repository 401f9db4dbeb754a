package vpnshare

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/units"
)

// MaxWeight is the largest valid weight.
const MaxWeight = 1e6

// Criterion is a definition of fairness.
type Criterion string

// The criteria.
const (
	// Weighted: throughputs are proportional to the weights.
	Weighted Criterion = "weighted"
	// Equal: all weights 1.
	Equal Criterion = "equal"
	// MaxMinFair: the weights are the max-min fair rates over the links that traffic crosses (paper 001, table III).
	MaxMinFair Criterion = "max-min"
)

// Policy is a compiled policy: the weight of each VPN.
type Policy struct {
	Name      string
	Criterion Criterion
	Weights   map[string]float64 // by VPN
}

// File is a policy file; policies/vpn/schema.json is its schema.
type File struct {
	Policy      string     `yaml:"policy"`
	Description string     `yaml:"description"`
	Criterion   Criterion  `yaml:"criterion"`
	VPNs        []Customer `yaml:"vpns"`
	Links       []Link     `yaml:"links"`
}

// Customer is a VPN in a file.
type Customer struct {
	Name   string   `yaml:"name"`
	Weight *float64 `yaml:"weight"`
	Links  []string `yaml:"links"`
}

// Link is a possible bottleneck.
type Link struct {
	Name string     `yaml:"name"`
	Rate units.Rate `yaml:"rate"`
}

// weight is the configured weight, 1 by default.
func (c Customer) weight() float64 {
	if c.Weight == nil {
		return 1
	}
	return *c.Weight
}

// CheckWeight returns an error for an invalid weight.
func CheckWeight(vpn string, w float64) error {
	if !(w > 0 && w <= MaxWeight) { // also refuses NaN
		return fmt.Errorf("weight %g of VPN %s: use more than 0 and at most %g", w, vpn, float64(MaxWeight))
	}
	return nil
}

// Parse reads a policy's text; unknown keys fail.
func Parse(text []byte) (File, error) {
	f := File{Criterion: Weighted}
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		return File{}, err
	}
	if !slices.Contains([]Criterion{Weighted, Equal, MaxMinFair}, f.Criterion) {
		return File{}, fmt.Errorf("criterion %q: use %s, %s or %s", f.Criterion, Weighted, Equal, MaxMinFair)
	}
	names, links := map[string]bool{}, map[string]bool{}
	for _, l := range f.Links {
		if l.Name == "" || links[l.Name] {
			return File{}, fmt.Errorf("link %q has no name or is listed twice", l.Name)
		}
		if l.Rate == 0 {
			return File{}, fmt.Errorf("link %s: give a rate above 0, such as 10Gbit/s", l.Name)
		}
		links[l.Name] = true
	}
	for _, v := range f.VPNs {
		if names[v.Name] || v.Name == "" {
			return File{}, fmt.Errorf("VPN %q has no name or is listed twice", v.Name)
		}
		names[v.Name] = true
		if err := CheckWeight(v.Name, v.weight()); err != nil {
			return File{}, err
		}
		for _, l := range v.Links {
			if !links[l] {
				return File{}, fmt.Errorf("VPN %s crosses link %s, which is not in the list of links", v.Name, l)
			}
		}
	}
	return f, nil
}

// Network has the links and the links that each VPN crosses.
type Network struct {
	Capacity []float64 // bit/s
	Crosses  map[string][]int
}

// ErrNoRoutes means that the file lists no links and no topology is known.
var ErrNoRoutes = errors.New("max-min fairness needs links: list them and those that each VPN crosses, " +
	"or let the control plane read them from the topology")

// Network returns the links that the file lists; ok is false if it lists none.
func (f File) Network() (n Network, ok bool) {
	n.Crosses = map[string][]int{}
	for _, l := range f.Links {
		n.Capacity = append(n.Capacity, float64(l.Rate))
	}
	for _, v := range f.VPNs {
		for _, name := range v.Links {
			n.Crosses[v.Name] = append(n.Crosses[v.Name], slices.IndexFunc(f.Links, func(l Link) bool { return l.Name == name }))
		}
	}
	return n, len(f.Links) > 0
}

// Compile turns the criterion into weights. The known network is used only if the file lists no links; VPNs that are
// not in it keep their configured weight.
func (f File) Compile(known *Network) (Policy, error) {
	p := Policy{Name: f.Policy, Criterion: f.Criterion, Weights: map[string]float64{}}
	for _, v := range f.VPNs {
		p.Weights[v.Name] = v.weight()
		if f.Criterion == Equal {
			p.Weights[v.Name] = 1
		}
	}
	if f.Criterion != MaxMinFair {
		return p, nil
	}
	n, listed := f.Network()
	switch {
	case listed:
		for _, v := range f.VPNs {
			if len(v.Links) == 0 {
				return Policy{}, fmt.Errorf("VPN %s crosses no link: list the links that it crosses", v.Name)
			}
		}
	case known == nil:
		return Policy{}, ErrNoRoutes
	default:
		n = *known
	}
	return p, f.maxMin(n, p.Weights)
}

// maxMin sets the max-min fair rates as weights, scaled so that the smallest is 1.
func (f File) maxMin(n Network, into map[string]float64) error {
	var names []string
	var routes []Route
	for _, v := range f.VPNs {
		if links := n.Crosses[v.Name]; len(links) > 0 {
			names, routes = append(names, v.Name), append(routes, Route{v.weight(), links})
		}
	}
	if len(routes) == 0 {
		return nil
	}
	rates, err := MaxMin(n.Capacity, routes)
	if err != nil {
		return err
	}
	smallest := slices.Min(rates)
	if smallest <= 0 {
		return fmt.Errorf("VPN %s gets no rate: every link needs a rate above 0", names[slices.Index(rates, smallest)])
	}
	for i, name := range names {
		if into[name] = rates[i] / smallest; into[name] > MaxWeight {
			return fmt.Errorf("the max-min fair rate of VPN %s is %g times the smallest; the largest weight is %g",
				name, into[name], float64(MaxWeight))
		}
	}
	return nil
}

package vpnshare

import (
	"fmt"
	"math"
	"slices"
)

// Route is a flow's weight and the links that it crosses, by their index in the list of capacities.
type Route struct {
	Weight float64
	Links  []int
}

// MaxMin returns the weighted max-min fair rates by progressive filling: all rates grow in proportion to their weights,
// and each stops at the first full link on its route (Bertsekas and Gallager, Data Networks, section 6.5.2). With these
// rates as weights, the control law is max-min fair over several bottlenecks (paper 001, table III).
func MaxMin(capacity []float64, routes []Route) ([]float64, error) {
	rates, fixed := make([]float64, len(routes)), make([]bool, len(routes))
	left := slices.Clone(capacity)
	for i, r := range routes {
		if r.Weight <= 0 || len(r.Links) == 0 {
			return nil, fmt.Errorf("flow %d: max-min fairness needs a weight above 0 and at least one link", i)
		}
		for _, l := range r.Links {
			if l < 0 || l >= len(capacity) {
				return nil, fmt.Errorf("flow %d crosses link %d, which does not exist", i, l)
			}
		}
	}
	for range routes {
		link, share := bottleneck(left, routes, fixed)
		if link < 0 {
			break
		}
		for i, r := range routes {
			if fixed[i] || !slices.Contains(r.Links, link) {
				continue
			}
			rates[i], fixed[i] = share*r.Weight, true
			for _, l := range r.Links {
				left[l] = max(left[l]-rates[i], 0)
			}
		}
	}
	return rates, nil
}

// bottleneck finds the link that is full first if all open flows grow, and its capacity per unit of weight.
func bottleneck(left []float64, routes []Route, fixed []bool) (int, float64) {
	best, share := -1, math.Inf(1)
	for l := range left {
		var weight float64
		for i, r := range routes {
			if !fixed[i] && slices.Contains(r.Links, l) {
				weight += r.Weight
			}
		}
		if weight > 0 && left[l]/weight < share {
			best, share = l, left[l]/weight
		}
	}
	return best, share
}

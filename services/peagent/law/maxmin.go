package law

import "github.com/millrace/millrace/internal/vpnshare"

// Route is a flow's weight and the links it crosses, by their place in the list of capacities.
type Route struct {
	Weight float64
	Links  []int
}

// MaxMin returns the weighted max-min fair rates; given to flows as their weights, they make the law max-min fair over
// several bottlenecks (paper 001, table III).
func MaxMin(capacity []float64, routes []Route) ([]float64, error) {
	same := make([]vpnshare.Route, len(routes))
	for i, r := range routes {
		same[i] = vpnshare.Route(r)
	}
	return vpnshare.MaxMin(capacity, same)
}

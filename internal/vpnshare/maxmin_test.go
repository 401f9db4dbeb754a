package vpnshare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMaxMinIsTableThree: the weights of the paper are the max-min rates of its topology.
func TestMaxMinIsTableThree(t *testing.T) {
	for b3, want := range map[float64][]float64{10: {1, 3, 1, 1}, 20: {1, 3, 1, 3}, 30: {1, 3, 1, 5}} {
		got, err := MaxMin([]float64{20, 10, b3}, []Route{{1, []int{0, 1, 2}}, {1, []int{0}}, {1, []int{1}}, {1, []int{2}}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if math.Abs(got[i]/5-want[i]) > 1e-9 {
				t.Errorf("B3 = %g: %v, want 5 times %v", b3, got, want)
			}
		}
	}
}

// TestMaxMinAgainstItsDefinition: a flow's rate per weight is as high as anyone's on some full link it crosses.
func TestMaxMinAgainstItsDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		capacity := make([]float64, 1+random.IntN(6))
		for i := range capacity {
			capacity[i] = 1 + 9*random.Float64()
		}
		routes := make([]Route, 1+random.IntN(8))
		for i := range routes {
			routes[i].Weight = 0.5 + 4*random.Float64()
			routes[i].Links = random.Perm(len(capacity))[:1+random.IntN(len(capacity))]
		}
		rates, err := MaxMin(capacity, routes)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range routes {
			if !bottlenecked(capacity, routes, rates, i) {
				t.Fatalf("flow %d over %v could have more: %v of %v", i, r.Links, rates, capacity)
			}
		}
	}
}

func bottlenecked(capacity []float64, routes []Route, rates []float64, i int) bool {
	for _, l := range routes[i].Links {
		used, highest := 0.0, 0.0
		for j, r := range routes {
			if slices.Contains(r.Links, l) {
				used += rates[j]
				highest = max(highest, rates[j]/r.Weight)
			}
		}
		if used > capacity[l]-1e-6 && rates[i]/routes[i].Weight > highest-1e-6 {
			return true
		}
	}
	return false
}

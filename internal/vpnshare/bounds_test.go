package vpnshare

import (
	"math"
	"strings"
	"testing"
)

func TestWeightsAtTheirBounds(t *testing.T) {
	for w, ok := range map[float64]bool{math.SmallestNonzeroFloat64: true, MaxWeight: true, 0: false, -1: false, MaxWeight + 1: false, math.NaN(): false, math.Inf(1): false} {
		if err := CheckWeight("blue", w); (err == nil) != ok {
			t.Errorf("%g: %v", w, err)
		}
	}
}

func TestRoutesThatHaveNoFairRate(t *testing.T) {
	capacity := []float64{10, 20}
	for name, r := range map[string]Route{
		"no weight": {0, []int{0}}, "a weight below 0": {-1, []int{0}}, "no link": {1, nil},
		"the link behind the last": {1, []int{2}}, "the link before the first": {1, []int{-1}},
	} {
		if rates, err := MaxMin(capacity, []Route{{1, []int{0}}, r}); err == nil || !strings.Contains(err.Error(), "flow 1") {
			t.Errorf("%s: %v, %v", name, rates, err)
		}
	}
	if rates, err := MaxMin(capacity, []Route{{1, []int{1}}}); err != nil || rates[0] != 20 {
		t.Errorf("the last link: %v, %v", rates, err)
	}
}

func TestRatesThatAreNoWeights(t *testing.T) {
	f := File{VPNs: []Customer{{Name: "small"}, {Name: "large"}}}
	crosses := map[string][]int{"small": {0}, "large": {1}}
	for capacity, want := range map[float64]string{MaxWeight: "", MaxWeight + 1: "the largest weight is 1e+06"} {
		into := map[string]float64{}
		err := f.maxMin(Network{Capacity: []float64{1, capacity}, Crosses: crosses}, into)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a link of %g: %v, %v", capacity, into, err)
		}
	}
	if err := f.maxMin(Network{Capacity: []float64{0, 1}, Crosses: crosses}, map[string]float64{}); err == nil || !strings.Contains(err.Error(), "VPN small gets no rate") {
		t.Errorf("a link without a rate: %v", err)
	}
}

package lab

import (
	"math"
	"slices"
)

// Distribution summarises many measurements of one thing.
type Distribution struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// distribution of no values is all zeros, with N = 0. Percentiles are by nearest rank: values that were
// really seen.
func distribution(values []float64) Distribution {
	d := Distribution{N: len(values)}
	if d.N == 0 {
		return d
	}
	sorted := slices.Sorted(slices.Values(values))
	for _, v := range sorted {
		d.Mean += v / float64(d.N)
	}
	squares := 0.0
	for _, v := range sorted {
		squares += (v - d.Mean) * (v - d.Mean)
	}
	rank := func(q float64) float64 { return sorted[max(int(math.Ceil(q*float64(d.N)))-1, 0)] }
	d.SD = math.Sqrt(squares / float64(d.N))
	d.Min, d.P50, d.P99, d.Max = sorted[0], rank(0.5), rank(0.99), sorted[d.N-1]
	return d
}

// into adds the distribution's numbers to a set of metrics; of no measurements
// nothing can be claimed.
func (d Distribution) into(m map[string]float64, name string) {
	if d.N == 0 {
		return
	}
	for stat, v := range map[string]float64{"mean": d.Mean, "sd": d.SD, "min": d.Min, "p50": d.P50, "p99": d.P99, "max": d.Max, "spread": d.Max - d.Min} {
		m[name+"_"+stat+"_ms"] = v
	}
}

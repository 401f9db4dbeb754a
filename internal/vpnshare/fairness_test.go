package vpnshare

import (
	"math"
	"testing"
)

func TestFairnessIndices(t *testing.T) {
	for _, c := range []struct {
		name   string
		x, r   []float64
		want   float64
		jain   float64
		digits float64
	}{
		{"in the ratio of the weights", []float64{1, 2, 3}, []float64{1, 2, 3}, 1, 36.0 / 42, 1e-12},
		{"one has all", []float64{5, 0, 0, 0}, []float64{1, 1, 1, 1}, 0.25, 0.25, 1e-12},
		{"nothing moves", []float64{0, 0}, []float64{1, 2}, 1, 1, 1e-12},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Fairness(c.x, c.r); math.Abs(got-c.want) > c.digits {
				t.Errorf("F %g, want %g", got, c.want)
			}
			if got := Jain(c.x); math.Abs(got-c.jain) > c.digits {
				t.Errorf("Jain %g, want %g", got, c.jain)
			}
		})
	}
}

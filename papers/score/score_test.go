package score

import (
	"math"
	"testing"
)

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name    string
		row     Row
		got     float64
		within  bool
		missing bool
	}{
		{"within a relative tolerance", Row{Key: "x", Paper: 100, Relative: 0.1}, 109, true, false},
		{"outside it", Row{Key: "x", Paper: 100, Relative: 0.1}, 111, false, false},
		{"the larger of two tolerances counts", Row{Key: "x", Paper: 0, Relative: 0.1, Absolute: 1}, 0.9, true, false},
		{"none is none", Row{Key: "x", Paper: 0}, 0.001, false, false},
		{"at least", Row{Key: "x", Paper: 2, Op: AtLeast}, 1.99, false, false},
		{"at most", Row{Key: "x", Paper: 2, Op: AtMost}, 1.99, true, false},
		{"a division by nothing is no measurement", Row{Key: "x", Paper: 2, Op: AtLeast}, math.Inf(1), false, true},
		{"nothing measured is never within", Row{Key: "y", Paper: 2, Op: AtMost}, 1, false, true},
	} {
		v := Judge("e", c.row, Values{"x": c.got})
		if v.Within != c.within || v.Missing != c.missing {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

func TestJain(t *testing.T) {
	if got := Jain([]float64{1, 2, 3}, []float64{1, 2, 3}); math.Abs(got-1) > 1e-12 {
		t.Errorf("throughput in the ratio of the weights: %g", got)
	}
	if got := Jain([]float64{1, 0, 0, 0}, nil); got != 0.25 {
		t.Errorf("one of four has all: %g", got)
	}
}

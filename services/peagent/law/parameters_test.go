package law

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestTheDefaultsAreValidAndSafe(t *testing.T) {
	p := DefaultParameters()
	if err := p.Validate(); err != nil || !p.Safe() {
		t.Errorf("the defaults: %v", err)
	}
	for _, change := range []func(*Parameters){func(p *Parameters) { p.A = 1 }, func(p *Parameters) { p.B = 0.5 }} {
		p := DefaultParameters()
		if change(&p); p.Safe() {
			t.Errorf("a = %g and b = %g are outside the paper's region", p.A, p.B)
		}
	}
}

// TestEveryParameterIsValidated goes over the fields, so that none can be forgotten.
func TestEveryParameterIsValidated(t *testing.T) {
	for i := range reflect.TypeFor[Parameters]().NumField() {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
			p := DefaultParameters()
			reflect.ValueOf(&p).Elem().Field(i).SetFloat(bad)
			if p.Validate() == nil {
				t.Errorf("%s = %g was accepted", reflect.TypeFor[Parameters]().Field(i).Name, bad)
			}
		}
	}
}

func TestParameterBounds(t *testing.T) {
	for name, c := range map[string]struct {
		good, bad float64
		set       func(p *Parameters, v float64)
	}{
		"a":                          {1e-9, 0, func(p *Parameters, v float64) { p.A = v }},
		"b":                          {0.4, 0, func(p *Parameters, v float64) { p.B = v }},
		"b is 1":                     {0.4, 1, func(p *Parameters, v float64) { p.B, p.MaxB = v, v }},
		"catch-up":                   {0, -1e-9, func(p *Parameters, v float64) { p.CatchUp = v }},
		"lower bound of b":           {1e-9, 0, func(p *Parameters, v float64) { p.MinB = v }},
		"lower bound of b, above it": {0.1, 0.11, func(p *Parameters, v float64) { p.MinB = v }},
		"upper bound of b":           {0.99, 1, func(p *Parameters, v float64) { p.MaxB = v }},
		"upper bound of b, below it": {0.1, 0.09, func(p *Parameters, v float64) { p.MaxB = v }},
		"smallest window":            {1e-9, 0, func(p *Parameters, v float64) { p.MinWindow = v }},
		"largest window":             {1.1, 1, func(p *Parameters, v float64) { p.MaxWindow = v }},
		"starting rate":              {1e-9, 0, func(p *Parameters, v float64) { p.StartRate = v }},
		"doubling time":              {1e-9, 0, func(p *Parameters, v float64) { p.DoublingTime = v }},
		"hold":                       {0, -1e-9, func(p *Parameters, v float64) { p.RateHold = v }},
		"smoothing":                  {1e-9, 0, func(p *Parameters, v float64) { p.SmoothingRTTs = v }},
		"averaging time":             {1e-9, 0, func(p *Parameters, v float64) { p.AveragingTime = v }},
		"fairness correction":        {1, 0.99, func(p *Parameters, v float64) { p.MaxCorrection = v }},
		"loss intervals":             {1, 0.99, func(p *Parameters, v float64) { p.LossIntervals = v }},
		"peer time-out":              {0.21, 0.2, func(p *Parameters, v float64) { p.PeerTimeout = v }},
	} {
		t.Run(name, func(t *testing.T) {
			p := DefaultParameters()
			c.set(&p, c.good)
			if err := p.Validate(); err != nil {
				t.Errorf("%g: %v", c.good, err)
			}
			c.set(&p, c.bad)
			if err := p.Validate(); err == nil || !strings.HasPrefix(err.Error(), "control law: ") {
				t.Errorf("%g: %v", c.bad, err)
			}
		})
	}
}

// The bounds of b fail with b itself; what is wrong is b.
func TestTheFirstParameterOutsideItsRangeIsNamed(t *testing.T) {
	for _, b := range []float64{0, 1} {
		p := DefaultParameters()
		p.B = b
		if err := p.Validate(); err == nil || !strings.HasPrefix(err.Error(), "control law: b is ") {
			t.Errorf("b = %g: %v", b, err)
		}
	}
}

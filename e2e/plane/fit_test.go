package plane

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFit: the line finds a leak that is far below the steps between lives and the noise of a reading, and none where
// there is none.
func TestFit(t *testing.T) {
	for name, leak := range map[string]float64{"flat": 0, "one per minute": 1} {
		t.Run(name, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(1, 2))
			var lives []Life
			for at := 0.0; at < 60; {
				var one Life
				level := 50 + 100*dice.Float64()
				for age := 0.0; age < 8; age += 1.0 / 6 {
					warming := 300 * math.Exp(-age)
					if age > 4 {
						warming = 0
					}
					one.Readings = append(one.Readings, Reading{at + age, level + warming + leak*age + 10*(dice.Float64()-0.5)})
				}
				at += 8
				lives = append(lives, one)
			}
			l := Fit(lives, 4)
			if l.Lives != 8 || math.Abs(l.Slope-leak) > 4*l.Sigma || l.Sigma > 0.2 {
				t.Errorf("%s per minute was fitted as %.3f ± %.3f over %d lives", name, l.Slope, l.Sigma, l.Lives)
			}
		})
	}
	if l := Fit([]Life{{Readings: []Reading{{0, 1}, {1, 2}}}}, 5); l.Lives != 0 || l.Slope != 0 {
		t.Errorf("nothing after the warm-up was fitted as %+v", l)
	}
}

package soak

import (
	"math"
	"math/rand/v2"
	"testing"
)

// line is fitted to readings by least squares. The lives of a process have one slope and a level each: a process that
// starts again starts at its own level, and a leak grows in every life.
type line struct {
	// slope per minute, and its standard error.
	slope, sigma float64
	// mean of all readings, and how many minutes they span, all lives together.
	mean, span float64
	lives      int
}

// fit leaves out the first minutes of every life, while caches and pools fill.
func fit(lives []life, warmUp float64) (l line) {
	var xx, xy, yy, n, total float64
	for _, one := range lives {
		rest := warm(one.readings, warmUp)
		if len(rest) < 3 {
			continue
		}
		var mx, my float64
		for _, r := range rest {
			mx, my = mx+r.minute/float64(len(rest)), my+r.value/float64(len(rest))
		}
		for _, r := range rest {
			xx, xy, yy = xx+(r.minute-mx)*(r.minute-mx), xy+(r.minute-mx)*(r.value-my), yy+(r.value-my)*(r.value-my)
			total += r.value
		}
		n += float64(len(rest))
		l.lives, l.span = l.lives+1, l.span+rest[len(rest)-1].minute-rest[0].minute
	}
	if xx == 0 {
		return l
	}
	l.slope, l.mean = xy/xx, total/n
	if free := n - float64(l.lives) - 1; free > 0 {
		l.sigma = math.Sqrt(math.Max(0, yy-l.slope*xy) / free / xx)
	}
	return l
}

// warm are the readings after a life's first minutes.
func warm(all []reading, warmUp float64) []reading {
	for i, r := range all {
		if r.minute >= all[0].minute+warmUp {
			return all[i:]
		}
	}
	return nil
}

// TestFit: the line finds a leak that is far below the steps between lives and the noise of a reading, and none where
// there is none.
func TestFit(t *testing.T) {
	for name, leak := range map[string]float64{"flat": 0, "one per minute": 1} {
		t.Run(name, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(1, 2))
			var lives []life
			for at := 0.0; at < 60; {
				var one life
				level := 50 + 100*dice.Float64()
				for age := 0.0; age < 8; age += 1.0 / 6 {
					warming := 300 * math.Exp(-age)
					if age > 4 {
						warming = 0
					}
					one.readings = append(one.readings, reading{at + age, level + warming + leak*age + 10*(dice.Float64()-0.5)})
				}
				at += 8
				lives = append(lives, one)
			}
			l := fit(lives, 4)
			if l.lives != 8 || math.Abs(l.slope-leak) > 4*l.sigma || l.sigma > 0.2 {
				t.Errorf("%s per minute was fitted as %.3f ± %.3f over %d lives", name, l.slope, l.sigma, l.lives)
			}
		})
	}
	if l := fit([]life{{readings: []reading{{0, 1}, {1, 2}}}}, 5); l.lives != 0 || l.slope != 0 {
		t.Errorf("nothing after the warm-up was fitted as %+v", l)
	}
}

package months

import (
	"math"
	"math/rand/v2"
	"time"
)

// chance is a PCG with a seed: equal seeds draw equal numbers.
type chance struct{ *rand.Rand }

func newChance(seed uint64) chance { return chance{rand.New(rand.NewPCG(seed, 0x6d6f6e746873))} }

// pareto is at least low and at most high, of the given shape: sizes by Zipf's law.
func (c chance) pareto(low, high, shape float64) float64 {
	return min(high, low*math.Pow(1-c.Float64(), -1/shape))
}

// geometric is 1 or more, of the given mean.
func (c chance) geometric(mean float64) int {
	n := 1
	for c.Float64() > 1/mean {
		n++
	}
	return n
}

// rank is 0 to n-1, each r in proportion to 1/(r+1).
func (c chance) rank(n int) int {
	for {
		// The integral of 1/x inverted, and what it gives too much refused.
		x := math.Exp(c.Float64() * math.Log(float64(n+1)))
		r := int(x)
		if r <= n && c.Float64()*x < float64(r) {
			return r - 1
		}
	}
}

// The day's rhythm: traffic at its peak is four times that at its minimum, twelve hours away.
const (
	swing    = 0.6
	peakHour = 15
)

// timeOfDay is when something of a day begins, in whole milliseconds.
func (c chance) timeOfDay() time.Duration {
	for {
		hours := 24 * c.Float64()
		if c.Float64()*(1+swing) < 1+swing*math.Cos(2*math.Pi*(hours-peakHour)/24) {
			return time.Duration(hours*3.6e6) * time.Millisecond
		}
	}
}

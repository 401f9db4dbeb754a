package discipline

import (
	"fmt"
	"math"
)

// DropProfile is the drop probability by the occupancy of the queue: 0 below Min, rising linearly to Probability
// at Max, 1 above. All are fractions.
type DropProfile struct {
	Min, Max, Probability float64
	// Points, where above one, makes the slope a staircase over that many fill levels from 0 to 1, as
	// routers do: Junos makes 64 of an interpolated drop profile ("Configuring RED Drop Profiles"), so that
	// below a 63rd of the buffer nothing is dropped.
	Points int
}

func (p *DropProfile) at(fill float64) float64 {
	if p.Points > 1 {
		steps := float64(p.Points - 1)
		fill = math.Floor(fill*steps) / steps
	}
	switch {
	case fill < p.Min:
		return 0
	case fill >= p.Max:
		return 1
	}
	return p.Probability * (fill - p.Min) / (p.Max - p.Min)
}

func (p *DropProfile) check() error {
	if p.Min < 0 || p.Max < p.Min || p.Probability < 0 || p.Probability > 1 {
		return fmt.Errorf("drop profile from %g to %g with probability %g", p.Min, p.Max, p.Probability)
	}
	return nil
}

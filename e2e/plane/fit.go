package plane

import "math"

// Line is fitted to readings by least squares. The lives of a process have one slope and a level each: a process that
// starts again starts at its own level, and a leak grows in every life.
type Line struct {
	// Slope per unit of time, and its standard error.
	Slope, Sigma float64
	// Mean of all readings, and how much time they span, all lives together.
	Mean, Span float64
	Lives      int
}

// Fit leaves out the first part of every life, while caches and pools fill.
func Fit(lives []Life, warmUp float64) (l Line) {
	var xx, xy, yy, n, total float64
	for _, one := range lives {
		rest := warm(one.Readings, warmUp)
		if len(rest) < 3 {
			continue
		}
		var mx, my float64
		for _, r := range rest {
			mx, my = mx+r.At/float64(len(rest)), my+r.Value/float64(len(rest))
		}
		for _, r := range rest {
			xx, xy, yy = xx+(r.At-mx)*(r.At-mx), xy+(r.At-mx)*(r.Value-my), yy+(r.Value-my)*(r.Value-my)
			total += r.Value
		}
		n += float64(len(rest))
		l.Lives, l.Span = l.Lives+1, l.Span+rest[len(rest)-1].At-rest[0].At
	}
	if xx == 0 {
		return l
	}
	l.Slope, l.Mean = xy/xx, total/n
	if free := n - float64(l.Lives) - 1; free > 0 {
		l.Sigma = math.Sqrt(math.Max(0, yy-l.Slope*xy) / free / xx)
	}
	return l
}

// warm are the readings after a life's first part.
func warm(all []Reading, warmUp float64) []Reading {
	for i, r := range all {
		if r.At >= all[0].At+warmUp {
			return all[i:]
		}
	}
	return nil
}

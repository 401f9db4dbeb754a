// Package repeat says when a window begins and ends that is requested for each day or each week. It knows no clock,
// store or network.
//
// In: the first window, the period, how many windows, the time zone whose clock they keep to. Out: the windows. Next:
// services/circuits, which books a circuit for each.
//
// Mutation testing: 17 of 17 killed (docs/reference/mutants.md).
package repeat

import (
	"errors"
	"fmt"
	"time"
)

// Most is how many windows there are at most.
const Most = 60

// Errors of what means nothing.
var (
	ErrTimes   = fmt.Errorf("2 to %d windows", Most)
	ErrWindow  = errors.New("a window that is repeated has a start and, after it, an end")
	ErrOverlap = errors.New("a window must be over when the next one begins")
)

// Window is from Start to End, which is not part of it.
type Window struct{ Start, End time.Time }

// Windows are so many of them, each so many days after the one before it, at the same times of the zone's clock.
func Windows(first Window, days, times int, zone *time.Location) ([]Window, error) {
	switch {
	case times < 2 || times > Most:
		return nil, ErrTimes
	case !first.Start.Before(first.End):
		return nil, ErrWindow
	}
	out := []Window{first}
	for i := 1; i < times; i++ {
		next := Window{Start: later(first.Start, i*days, zone), End: later(first.End, i*days, zone)}
		if next.Start.Before(out[i-1].End) {
			return nil, ErrOverlap
		}
		if !next.Start.Before(next.End) { // the clock left out all of it
			return nil, fmt.Errorf("%w: on %s the clock of %s leaves it out", ErrWindow, next.Start.In(zone).Format(time.DateOnly), zone)
		}
		out = append(out, next)
	}
	return out, nil
}

// later is the same time of day some days later. time.Date does not say which of two it means where the clock is set
// back, nor by which offset it reads a time that the clock leaves out.
func later(t time.Time, days int, zone *time.Location) time.Time {
	local := t.In(zone)
	year, month, day := local.Date()
	hour, minute, second := local.Clock()
	wall := time.Date(year, month, day+days, hour, minute, second, 0, time.UTC)
	before, after := offset(wall.AddDate(0, 0, -1), zone), offset(wall.AddDate(0, 0, 1), zone)
	// A clock that is set back shows the time twice, and by the larger offset it is the earlier one; one that is set
	// forward leaves it out, and by the offset before that it is as much later.
	for _, by := range []time.Duration{max(before, after), min(before, after)} {
		if at := wall.Add(-by); offset(at, zone) == by {
			return at
		}
	}
	return wall.Add(-before)
}

func offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

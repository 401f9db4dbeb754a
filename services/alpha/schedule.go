package alpha

import (
	"fmt"
	"time"
)

// timeOfDay is a local time at which something happens every day; nil is never.
type timeOfDay struct{ hour, minute int }

func parseTimeOfDay(s string) (*timeOfDay, error) {
	if s == "" {
		return nil, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return nil, fmt.Errorf("time of day %q: write it as \"02:00\", or leave it empty for never", s)
	}
	return &timeOfDay{t.Hour(), t.Minute()}, nil
}

// latest is the last time this was due, at or before now.
func (d timeOfDay) latest(now time.Time) time.Time {
	y, m, day := now.Date()
	today := time.Date(y, m, day, d.hour, d.minute, 0, 0, now.Location())
	if today.After(now) {
		return time.Date(y, m, day-1, d.hour, d.minute, 0, 0, now.Location())
	}
	return today
}

// due decides from wall-clock times only, so that it holds over suspended
// machines, restarts and clocks that are set: a run is due if its time came
// after last. One run makes up for all missed ones. A last time in the future
// comes from a clock that ran ahead and was set back: it is forgotten, and the
// next time of day is the next run.
func (d timeOfDay) due(now, last time.Time) (run bool, newLast time.Time) {
	if last.IsZero() || last.After(now) {
		return false, now
	}
	if at := d.latest(now); at.After(last) {
		return true, now
	}
	return false, last
}

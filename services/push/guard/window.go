package guard

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Window is when change sets may be applied: on some days of the week, from one time of day until another. The zero
// value is always.
type Window struct {
	// Days on which it opens; none: every day.
	Days []time.Weekday
	// From and To are times of day, as durations since midnight by the clock on the wall. To is on the next day where
	// it is not after From.
	From, To time.Duration
	Zone     *time.Location
}

// Always reports whether there is no window.
func (w Window) Always() bool { return w.Zone == nil }

// Open reports whether a moment lies in the window, and if not when the next one opens.
func (w Window) Open(now time.Time) (open bool, next time.Time) {
	if w.Always() {
		return true, now
	}
	// One that opened yesterday may still be open. The next may be two weeks ahead: where the window is on one day of
	// the week, has closed today, and lies in the hour that the clock skips next week.
	y, m, d := now.In(w.Zone).Date()
	for day := d - 1; day <= d+14; day++ {
		opens, closes := w.on(y, m, day)
		switch {
		case !opens.Before(closes) || !now.Before(closes):
		case now.Before(opens):
			return false, opens
		default:
			return true, now
		}
	}
	return false, time.Time{}
}

// on is the window that opens on a day; from and to are equal where it does not.
func (w Window) on(y int, m time.Month, d int) (opens, closes time.Time) {
	midday := time.Date(y, m, d, 12, 0, 0, 0, w.Zone)
	if len(w.Days) > 0 && !slices.Contains(w.Days, midday.Weekday()) {
		return midday, midday
	}
	last := d
	if w.To <= w.From {
		last++
	}
	return first(y, m, d, w.From, w.Zone), first(y, m, last, w.To, w.Zone)
}

// first is the moment at which a clock on the wall first shows a time of day, or would but skips it: a time that comes
// twice is the earlier one, and one that does not come is the end of the hour that is skipped.
func first(y int, m time.Month, d int, at time.Duration, zone *time.Location) time.Time {
	wall := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Add(at)
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	early, late := wall.Add(-time.Duration(before)*time.Second).In(zone), wall.Add(-time.Duration(after)*time.Second).In(zone)
	if late.Before(early) {
		early, late = late, early
	}
	for _, t := range []time.Time{early, late} {
		if h, m, s := t.Clock(); h == wall.Hour() && m == wall.Minute() && s == wall.Second() {
			return t
		}
	}
	skipped, _ := late.ZoneBounds()
	return skipped
}

// String is as in "mon, tue 22:00-05:00 Europe/Berlin".
func (w Window) String() string {
	if w.Always() {
		return "always"
	}
	days := "every day"
	if len(w.Days) > 0 {
		var names []string
		for _, d := range w.Days {
			names = append(names, strings.ToLower(d.String()[:3]))
		}
		days = strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s %s-%s %s", days, timeOfDay(w.From), timeOfDay(w.To), w.Zone)
}

func timeOfDay(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60)
}

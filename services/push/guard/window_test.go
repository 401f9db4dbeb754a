package guard

import (
	"testing"
	"time"
)

const minute = "2006-01-02 15:04 MST"

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOpen: moments are UTC, windows are by the clock of Berlin: one hour ahead in winter, two in summer. In 2026 the
// clock skips 02:00-03:00 on 29 March (a Sunday) and has it twice on 25 October (a Sunday).
func TestOpen(t *testing.T) {
	h := time.Hour
	zone := berlin(t)
	night := Window{From: 22 * h, To: 5 * h, Zone: zone}
	hour := Window{From: 2 * h, To: 3 * h, Zone: zone}
	half := Window{From: 2*h + 30*time.Minute, To: 3*h + 30*time.Minute, Zone: zone}
	weekdays := Window{Days: []time.Weekday{time.Monday, time.Tuesday}, From: 22 * h, To: 5 * h, Zone: zone}
	sundays := Window{Days: []time.Weekday{time.Sunday}, From: 2 * h, To: 3 * h, Zone: zone}
	day := Window{From: 0, To: 0, Zone: zone}
	for _, c := range []struct {
		name string
		w    Window
		now  string
		next string // empty: open
	}{
		{"no window is always", Window{}, "2026-11-22 12:00", ""},
		{"before it opens", night, "2026-11-22 20:59", "2026-11-22 22:00 CET"},
		{"as it opens", night, "2026-11-22 21:00", ""},
		{"after midnight", night, "2026-11-23 03:59", ""},
		{"as it closes", night, "2026-11-23 04:00", "2026-11-23 22:00 CET"},
		{"a whole day", day, "2026-11-23 04:00", ""},
		{"on a Tuesday it opened on Monday", weekdays, "2026-11-24 03:00", ""},
		{"on a Wednesday it opened on Tuesday", weekdays, "2026-11-25 03:00", ""},
		{"on Wednesday evening it does not open", weekdays, "2026-11-25 21:30", "2026-11-30 22:00 CET"},
		{"on a Monday before dawn it did not open on Sunday", weekdays, "2026-11-23 03:00", "2026-11-23 22:00 CET"},

		{"23 hours: the night is one hour shorter, open until 03:00 UTC", night, "2026-03-29 02:59", ""},
		{"23 hours: and closed then", night, "2026-03-29 03:00", "2026-03-29 22:00 CEST"},
		{"23 hours: an hour that is skipped does not come", hour, "2026-03-29 01:00", "2026-03-30 02:00 CEST"},
		{"23 hours: nor where the day is the only one of the week", sundays, "2026-03-29 00:59", "2026-04-05 02:00 CEST"},
		{"23 hours: nor where that day is in a week", sundays, "2026-03-22 02:00", "2026-04-05 02:00 CEST"},
		{"23 hours: from half past the hour that is skipped, closed before", half, "2026-03-29 00:59", "2026-03-29 03:00 CEST"},
		{"23 hours: and open as the clock jumps", half, "2026-03-29 01:00", ""},
		{"23 hours: until half past", half, "2026-03-29 01:30", "2026-03-30 02:30 CEST"},

		{"25 hours: the night is one hour longer, open until 04:00 UTC", night, "2026-10-25 03:59", ""},
		{"25 hours: and closed then", night, "2026-10-25 04:00", "2026-10-25 22:00 CET"},
		{"25 hours: the hour that comes twice is open twice", hour, "2026-10-25 00:00", ""},
		{"25 hours: the second time", hour, "2026-10-25 01:59", ""},
		{"25 hours: and closed after it", hour, "2026-10-25 02:00", "2026-10-26 02:00 CET"},
		{"25 hours: it opens the first time the clock says half past", half, "2026-10-25 00:30", ""},
		{"25 hours: and stays open while the clock goes back", half, "2026-10-25 01:10", ""},
	} {
		open, next := c.w.Open(at(t, c.now))
		got := ""
		if !open {
			got = next.In(zone).Format(minute)
		}
		if got != c.next {
			t.Errorf("%s: %s UTC in %s: next %q, want %q", c.name, c.now, c.w, got, c.next)
		}
	}
}

// TestWestOfGreenwich the clock changes when it is another day there: in New York at 07:00 UTC on 8 March 2026.
func TestWestOfGreenwich(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	w := Window{From: 4 * time.Hour, To: 5 * time.Hour, Zone: zone}
	if open, next := w.Open(at(t, "2026-03-08 07:59")); open || next.In(zone).Format(minute) != "2026-03-08 04:00 EDT" {
		t.Errorf("open %v, next %s", open, next.In(zone))
	}
}

func TestWindowsAsText(t *testing.T) {
	w := Window{From: 22*time.Hour + 30*time.Minute, To: 5 * time.Hour, Zone: time.UTC}
	if got := w.String(); got != "every day 22:30-05:00 UTC" {
		t.Error(got)
	}
	w.Days = []time.Weekday{time.Monday, time.Tuesday}
	if got := w.String(); got != "mon, tue 22:30-05:00 UTC" {
		t.Error(got)
	}
	if got := (Window{}).String(); got != "always" {
		t.Error(got)
	}
}

// A slow reading of the same rule, minute by minute over the two weekends.
func TestOpenAgreesWithTheClockOnTheWall(t *testing.T) {
	zone := berlin(t)
	w := Window{From: 22 * time.Hour, To: 5 * time.Hour, Zone: zone}
	for _, start := range []string{"2026-03-28 00:00", "2026-10-24 00:00"} {
		for now, end := at(t, start), at(t, start).Add(72*time.Hour); now.Before(end); now = now.Add(time.Minute) {
			hour := now.In(zone).Hour()
			if open, next := w.Open(now); open != (hour >= 22 || hour < 5) || !open && !next.After(now) {
				t.Fatalf("%s: open %v, next %s", now.In(zone), open, next)
			}
		}
	}
}

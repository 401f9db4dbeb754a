package repeat

import (
	"errors"
	"testing"
	"time"
	_ "time/tzdata" // Europe/Berlin, also where the machine has no zones
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWindowsKeepToTheClockOfTheirZone(t *testing.T) {
	for name, tc := range map[string]struct {
		start, end, zone string
		days, times      int
		// last window
		from, to string
	}{
		"each night in UTC":                   {"2026-11-23T22:00:00Z", "2026-11-24T06:00:00Z", "UTC", 1, 3, "2026-11-25T22:00:00Z", "2026-11-26T06:00:00Z"},
		"each week, from summer to winter":    {"2026-10-19T22:00:00+02:00", "2026-10-20T06:00:00+02:00", "Europe/Berlin", 7, 2, "2026-10-26T22:00:00+01:00", "2026-10-27T06:00:00+01:00"},
		"the night in which an hour is twice": {"2026-10-23T22:00:00+02:00", "2026-10-24T06:00:00+02:00", "Europe/Berlin", 1, 2, "2026-10-24T22:00:00+02:00", "2026-10-25T06:00:00+01:00"},
		"the first of two is meant":           {"2026-10-24T02:30:00+02:00", "2026-10-24T04:00:00+02:00", "Europe/Berlin", 1, 2, "2026-10-25T02:30:00+02:00", "2026-10-25T04:00:00+01:00"},
		"the night that lacks an hour":        {"2026-03-27T22:00:00+01:00", "2026-03-28T06:00:00+01:00", "Europe/Berlin", 1, 2, "2026-03-28T22:00:00+01:00", "2026-03-29T06:00:00+02:00"},
		"a start that is left out is later":   {"2026-03-28T02:30:00+01:00", "2026-03-28T05:00:00+01:00", "Europe/Berlin", 1, 2, "2026-03-29T03:30:00+02:00", "2026-03-29T05:00:00+02:00"},
		"after a start that was left out":     {"2026-03-28T02:30:00+01:00", "2026-03-28T05:00:00+01:00", "Europe/Berlin", 1, 3, "2026-03-30T02:30:00+02:00", "2026-03-30T05:00:00+02:00"},
		"west of Greenwich":                   {"2026-10-31T20:00:00-07:00", "2026-10-31T23:00:00-07:00", "America/Los_Angeles", 1, 2, "2026-11-01T20:00:00-08:00", "2026-11-01T23:00:00-08:00"},
		"half an hour":                        {"2026-04-04T01:45:00+11:00", "2026-04-04T04:00:00+11:00", "Australia/Lord_Howe", 1, 2, "2026-04-05T01:45:00+11:00", "2026-04-05T04:00:00+10:30"},
		"one begins when the other ends":      {"2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z", "UTC", 1, 60, "2027-01-21T00:00:00Z", "2027-01-22T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			first := Window{at(t, tc.start), at(t, tc.end)}
			got, err := Windows(first, tc.days, tc.times, zone(t, tc.zone))
			if err != nil || len(got) != tc.times || got[0] != first {
				t.Fatalf("%v, %v", got, err)
			}
			last := got[tc.times-1]
			if !last.Start.Equal(at(t, tc.from)) || !last.End.Equal(at(t, tc.to)) {
				t.Errorf("the last is from %s to %s, want %s to %s", last.Start, last.End, tc.from, tc.to)
			}
		})
	}
}

func TestWindowsThatMeanNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		start, end  string
		days, times int
		err         error
	}{
		"one":                         {"2026-11-23T22:00:00Z", "2026-11-24T06:00:00Z", 1, 1, ErrTimes},
		"too many":                    {"2026-11-23T22:00:00Z", "2026-11-24T06:00:00Z", 1, Most + 1, ErrTimes},
		"no length":                   {"2026-11-23T22:00:00Z", "2026-11-23T22:00:00Z", 1, 2, ErrWindow},
		"longer than the period":      {"2026-11-23T00:00:00Z", "2026-11-24T00:00:01Z", 1, 2, ErrOverlap},
		"a day, on one that has 23 h": {"2026-03-27T12:00:00+01:00", "2026-03-28T12:00:00+01:00", 1, 3, nil},
		"all of it is in the hour that is left out": {"2026-03-28T02:30:00+01:00", "2026-03-28T03:15:00+01:00", 1, 2, ErrWindow},
	} {
		_, err := Windows(Window{at(t, tc.start), at(t, tc.end)}, tc.days, tc.times, zone(t, "Europe/Berlin"))
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: %v, want %v", name, err, tc.err)
		}
	}
}

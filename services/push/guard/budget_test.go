package guard

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // Europe/Berlin, also where the machine has no zones
)

func TestOver(t *testing.T) {
	b := Budget{Entries: 100, Routers: 3, LSPs: 2}
	for _, c := range []struct {
		name        string
		b           Budget
		spent, want Size
		over        []string
	}{
		{"nothing is limited", Budget{}, Size{}, Size{1e6, 1000, 1000}, nil},
		{"below", b, Size{}, Size{99, 2, 1}, nil},
		{"just", b, Size{}, Size{100, 3, 2}, nil},
		{"one entry too many", b, Size{}, Size{101, 3, 2}, []string{"it changes 101 config entries, and the nightly budget is 100"}},
		{"all three", b, Size{}, Size{101, 4, 3}, []string{
			"it changes 101 config entries, and the nightly budget is 100",
			"it changes 4 routers, and the nightly budget is 3",
			"it changes 3 LSPs, and the nightly budget is 2",
		}},
		{"what the budget has left", b, Size{90, 1, 1}, Size{10, 2, 1}, nil},
		{"more than the budget has left", b, Size{90, 1, 1}, Size{11, 2, 1}, []string{"it changes 11 config entries after 90 since noon, and the nightly budget is 100"}},
		{"a limit of routers alone", Budget{Routers: 1}, Size{}, Size{1e6, 2, 9}, []string{"it changes 2 routers, and the nightly budget is 1"}},
	} {
		if got := c.b.Over(c.spent, c.want); !slices.Equal(got, c.over) {
			t.Errorf("%s: %q, want %q", c.name, got, c.over)
		}
	}
}

func TestSizesAddUp(t *testing.T) {
	if got, want := (Size{100, 3, 2}).Plus(Size{20, 1, 1}), (Size{120, 4, 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// berlin has days of 23 and 25 hours.
func berlin(t *testing.T) *time.Location {
	t.Helper()
	l, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestBudgetPeriod(t *testing.T) {
	for at, want := range map[string]struct {
		from  string
		hours float64
	}{
		"2026-11-22 11:59": {"2026-11-21 12:00", 24},
		"2026-11-22 12:00": {"2026-11-22 12:00", 24},
		"2026-11-23 02:00": {"2026-11-22 12:00", 24},
		"2026-03-29 01:30": {"2026-03-28 12:00", 23},
		"2026-10-24 23:00": {"2026-10-24 12:00", 25},
		"2026-01-01 00:00": {"2025-12-31 12:00", 24},
	} {
		moment, err := time.ParseInLocation("2006-01-02 15:04", at, berlin(t))
		if err != nil {
			t.Fatal(err)
		}
		from, to := BudgetPeriod(moment)
		if got := from.Format("2006-01-02 15:04"); got != want.from || to.Sub(from).Hours() != want.hours || moment.Before(from) || !moment.Before(to) {
			t.Errorf("%s: from %s, %s long; want %s, %v h", at, got, to.Sub(from), want.from, want.hours)
		}
	}
}

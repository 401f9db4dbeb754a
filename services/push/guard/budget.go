package guard

import (
	"fmt"
	"time"
)

// Size is how much a change set changes.
type Size struct {
	Entries, Routers, LSPs int
}

// Plus adds what another one changes. A router of both counts twice: it is changed twice.
func (s Size) Plus(t Size) Size {
	return Size{s.Entries + t.Entries, s.Routers + t.Routers, s.LSPs + t.LSPs}
}

// Budget is how much the nightly run may change without a person; 0 is no limit.
type Budget Size

// Over returns by how much a change set exceeds the budget, after what was spent since the noon before;
// nothing if it fits.
func (b Budget) Over(spent, want Size) (out []string) {
	for _, row := range []struct {
		what              string
		limit, spent, now int
	}{
		{"config entries", b.Entries, spent.Entries, want.Entries},
		{"routers", b.Routers, spent.Routers, want.Routers},
		{"LSPs", b.LSPs, spent.LSPs, want.LSPs},
	} {
		if row.limit == 0 || row.spent+row.now <= row.limit {
			continue
		}
		text := fmt.Sprintf("it changes %d %s", row.now, row.what)
		if row.spent > 0 {
			text += fmt.Sprintf(" after %d since noon", row.spent)
		}
		out = append(out, fmt.Sprintf("%s, and the nightly budget is %d", text, row.limit))
	}
	return out
}

// BudgetPeriod is the budget's period, from noon to noon by the clock on the wall: 23, 24 or 25 hours.
func BudgetPeriod(t time.Time) (from, to time.Time) {
	y, m, d := t.Date()
	from = time.Date(y, m, d, 12, 0, 0, 0, t.Location())
	if t.Before(from) {
		d--
	}
	return time.Date(y, m, d, 12, 0, 0, 0, t.Location()), time.Date(y, m, d+1, 12, 0, 0, 0, t.Location())
}

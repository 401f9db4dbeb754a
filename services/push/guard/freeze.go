package guard

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Freeze keeps every change set off one router, or off all.
type Freeze struct {
	// Router is empty for all routers.
	Router, By, Reason string
	Since              time.Time
}

// String names what is frozen, by whom, why, and the command that ends it.
func (f Freeze) String() string {
	if f.Router == "" {
		return fmt.Sprintf("all routers are frozen by %s: %s (`millrace change unfreeze` ends it)", f.By, f.Reason)
	}
	return fmt.Sprintf("router %s is frozen by %s: %s (`millrace change unfreeze %s` ends it)", f.Router, f.By, f.Reason, f.Router)
}

// Frozen returns the reason why nothing may be sent to these routers; empty: it may. A change set is one
// unit, so a freeze of one of its routers stops all of it. A freeze of all routers is named first.
func Frozen(freezes []Freeze, routers []string) string {
	for _, f := range Sorted(freezes) {
		if f.Router == "" || slices.Contains(routers, f.Router) {
			return f.String()
		}
	}
	return ""
}

// Sorted has the freeze of all routers first, then those of single routers by name.
func Sorted(freezes []Freeze) []Freeze {
	return slices.SortedFunc(slices.Values(freezes), func(a, b Freeze) int { return cmp.Compare(a.Router, b.Router) })
}

package admit

import (
	"slices"

	"github.com/millrace/millrace/services/circuits/calendar"
)

// Resized are slots of a circuit that has a rate over a window, to its end, instead of what it had from the window's
// start on. What was before stays as it was.
func Resized(had []Slot, w calendar.Window, rate int64) []Slot {
	var out []Slot
	for _, s := range had {
		if s.Start >= w.Start {
			break
		}
		s.End = min(s.End, w.Start)
		out = append(out, s)
	}
	if last := len(out) - 1; last >= 0 && out[last].End == w.Start && out[last].Rate == rate {
		out[last].End = w.End
		return out
	}
	return append(out, Slot{Window: w, Rate: rate})
}

// Lacking says where the links of a circuit lack room for other slots, on the path and the backup that it has; nothing
// where they fit. What the circuit has counts as its own, so a request for nowhere more than that always fits, whatever
// became of the links. At most MaxBlockers; omitted is how many more there are.
func (b *Book) Lacking(id string, slots []Slot) (blockers []Blocker, omitted int) {
	k := b.circuits[id]
	for _, more := range Added(k.slots, slots) {
		for _, l := range k.links {
			for lack, missing := range b.links[l].Lacks(more.Window, more.Rate, k.cap) {
				if len(blockers) == MaxBlockers {
					omitted++
					continue
				}
				blockers = append(blockers, Blocker{Link: b.graph.Link(l).ID, Window: lack, Shortfall: missing})
			}
		}
	}
	return blockers, omitted
}

// Added is what slots have more than others, where they do.
func Added(had, slots []Slot) (out []Slot) {
	var at []int64
	for _, s := range slices.Concat(had, slots) {
		at = append(at, s.Start, s.End)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	for i := range max(len(at)-1, 0) {
		if more := rateAt(slots, at[i]) - rateAt(had, at[i]); more > 0 {
			out = append(out, Slot{Window: calendar.Window{Start: at[i], End: at[i+1]}, Rate: more})
		}
	}
	return out
}

func rateAt(slots []Slot, at int64) int64 {
	for _, s := range slots {
		if s.Start <= at && at < s.End {
			return s.Rate
		}
	}
	return 0
}

package admit

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/millrace/millrace/services/circuits/calendar"
)

// piece is an instant from which so much is free. Of pieces in order, each lasts until the next, the last one to the
// end of the window, and neighbours differ.
type piece struct{ at, free int64 }

// profile is what a link has free for the request over its window, no more than it wants and no less than 0.
func (a *ask) profile(l int32) []piece {
	var out []piece
	for w, free := range (calendar.Path{a.links[l]}).Pieces(a.Window, a.Cap) {
		out = grow(out, piece{w.Start, a.wanted(free)})
	}
	return out
}

// wanted is what the request takes of what is free.
func (a *ask) wanted(free int64) int64 { return max(min(free, a.highest()), 0) }

// lacks is how many bits of a volume a link does not carry; it is 0 or less if it carries all of them.
func (a *ask) lacks(l int32, want int64) int64 {
	for w, free := range (calendar.Path{a.links[l]}).Pieces(a.Window, a.Cap) {
		if want -= product(a.wanted(free), w.End-w.Start); want <= 0 {
			break
		}
	}
	return want
}

// highest rate of a volume.
func (a *ask) highest() int64 {
	if a.Rate == 0 {
		return calendar.MaxRate
	}
	return a.Rate
}

func grow(pieces []piece, p piece) []piece {
	if n := len(pieces); n > 0 && pieces[n-1].free == p.free {
		return pieces
	}
	return append(pieces, p)
}

// each calls do with what two profiles of one window have at each instant at which one of them changes.
func each(a, b []piece, do func(at, a, b int64) bool) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		at := max(a[i].at, b[j].at)
		if !do(at, a[i].free, b[j].free) {
			return
		}
		next := func(p []piece, i int) int64 {
			if i+1 < len(p) {
				return p[i+1].at
			}
			return calendar.Forever
		}
		x, y := next(a, i), next(b, j)
		if x <= y {
			i++
		}
		if y <= x {
			j++
		}
	}
}

// lower is the lower of two profiles at each instant.
func lower(a, b []piece) []piece {
	var out []piece
	each(a, b, func(at, a, b int64) bool {
		out = grow(out, piece{at, min(a, b)})
		return true
	})
	return out
}

// covers: a profile has at no instant less than another one. A search asks this most, so it has a loop of its own.
func covers(a, b []piece) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if a[i].free < b[j].free {
			return false
		}
		switch {
		case i+1 == len(a):
			j++
		case j+1 == len(b) || a[i+1].at < b[j+1].at:
			i++
		case a[i+1].at > b[j+1].at:
			j++
		default:
			i, j = i+1, j+1
		}
	}
	return true
}

// slots are a profile as slots of a window.
func slots(free []piece, end int64) []Slot {
	var out []Slot
	for i := len(free) - 1; i >= 0; i-- {
		if free[i].free > 0 {
			out = append(out, Slot{Window: calendar.Window{Start: free[i].at, End: end}, Rate: free[i].free})
		}
		end = free[i].at
	}
	slices.Reverse(out)
	return out
}

// manyBits is more than any volume.
const manyBits = MaxBytes*8 + 1

// carries is the bits that slots carry, or manyBits if it is more.
func carries(s []Slot) int64 {
	sum := int64(0)
	for _, one := range s {
		sum = min(sum+product(one.Rate, one.End-one.Start), manyBits)
	}
	return sum
}

// product of two numbers that are not negative, or manyBits if it is more.
func product(a, b int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high > 0 || low > manyBits {
		return manyBits
	}
	return int64(low)
}

// fewest are slots that carry a volume as early as can be, MaxSlots at the most: if the earliest are more, the largest.
func fewest(all []Slot, want int64) ([]Slot, bool) {
	if cut, ok := cut(all, want); ok && len(cut) <= MaxSlots {
		return cut, true
	}
	return cut(largest(all), want)
}

// largest are the MaxSlots slots that carry most, in order.
func largest(all []Slot) []Slot {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b Slot) int {
		return cmp.Compare(product(b.Rate, b.End-b.Start), product(a.Rate, a.End-a.Start))
	})
	out = out[:min(len(out), MaxSlots)]
	slices.SortFunc(out, func(a, b Slot) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// cut ends slots at the second in which a volume is carried.
func cut(all []Slot, want int64) ([]Slot, bool) {
	var out []Slot
	for _, s := range all {
		s.End = min(s.End, s.Start+(want-1)/s.Rate+1)
		out = append(out, s)
		want -= product(s.Rate, s.End-s.Start)
		if want <= 0 {
			return out, true
		}
	}
	return nil, false
}

// Package reoptimise decides which circuits are moved to better paths, and in which order. It knows no clock, store or
// network.
//
// In: circuits with what their paths cost, and what better ones would cost. Out: those that are worth a move, the
// largest gain first, so many at most. Next: services/circuits, which books the better path, and gives it to routers
// before the earlier one is free (make-before-break).
//
// Mutation testing: 15 of 15 killed (docs/reference/mutants.md).
package reoptimise

import (
	"cmp"
	"slices"
)

// Measure is of all links that a circuit uses: those of its path, its backup and its return path.
type Measure struct {
	// Cost is the sum of the metric that the circuit's path is the best by, IGP that of the IGP metrics, Hops the
	// number of links.
	Cost, IGP, Hops int64
	// Delay is the sum of their delays in microseconds, if all are known.
	Delay      int64
	DelayKnown bool
}

// Move is a circuit, and what it would have.
type Move struct {
	ID string
	// Rate is its highest one, bit/s.
	Rate     int64
	Had, Has Measure
}

// Gain is what a move makes less of.
type Gain struct {
	Cost, IGP, Hops, Delay int64
	// Freed is bit/s, on all links together.
	Freed int64
}

// Gain of a move. A delay that is not known is no gain.
func (m Move) Gain() Gain {
	g := Gain{Cost: m.Had.Cost - m.Has.Cost, IGP: m.Had.IGP - m.Has.IGP, Hops: m.Had.Hops - m.Has.Hops}
	g.Freed = g.Hops * m.Rate
	if m.Had.DelayKnown && m.Has.DelayKnown {
		g.Delay = m.Had.Delay - m.Has.Delay
	}
	return g
}

// Worth reports whether a move makes the sum of the circuit's metric less by so many hundredths of it at least. A
// network in which paths are about as good then moves no circuit back and forth.
func (m Move) Worth(leastPercent int64) bool {
	gain := m.Gain().Cost
	return gain > 0 && gain*100 >= leastPercent*m.Had.Cost
}

// Choose are the moves that are worth it, so many at most, those that free the most for others first; left is how many
// more there are.
func Choose(all []Move, leastPercent int64, most int) (out []Move, left int) {
	for _, m := range all {
		if m.Worth(leastPercent) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Move) int {
		x, y := a.Gain(), b.Gain()
		return cmp.Or(cmp.Compare(y.Freed, x.Freed), cmp.Compare(y.Cost, x.Cost), cmp.Compare(a.ID, b.ID))
	})
	left = max(len(out)-most, 0)
	return out[:len(out)-left], left
}

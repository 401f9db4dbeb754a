// Package restore decides which circuits that have lost their path are to get another one now, and in which order. It
// knows no clock, store or network.
//
// In: circuits whose path is lost, since when, and when each was tried in vain. Out: those that are due, the first one
// first. Next: services/circuits, which looks for another path for each in that order, and books it.
//
// Every replica does all of it. The first of two that books another path for a circuit changes its record, and the
// other one finds a circuit that has a path.
//
// Mutation testing: 27 of 27 killed (docs/reference/mutants.md).
package restore

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/services/circuits/life"
)

// Last is the last priority; 0 is the first.
const Last = 7

// Ahead is how many seconds before its start a circuit is moved at the earliest: until then its link may be back.
const Ahead = 600

// Circuit is what is known of one whose path is lost.
type Circuit struct {
	ID string
	// Priority, and Created, in any one unit, say who is first.
	Priority int64
	Created  int64
	Life     life.Circuit
	// Hold: it is to wait for its link.
	Hold bool
	// Lost is the second in which a link of its path was first seen to be gone.
	Lost  int64
	Tries Tries
}

// Tries are how often another path was looked for in vain, when last, and on which version of book and topology.
type Tries struct {
	Count    int
	At, Seen int64
}

// wait is how many seconds pass until the next try: none before the first, then 1, 2, 4 and so on to 64.
func (t Tries) wait() int64 { return int64(1) << min(t.Count, 7) >> 1 }

// Due reports whether it is time for another try: the first one, or a later one after what was seen has changed.
func (t Tries) Due(now, seen int64) bool {
	return t.Count == 0 || seen != t.Seen && now >= t.At+t.wait()
}

// Due are the circuits that are to get another path now: their links are gone for so many seconds, and what is booked
// and which links there are has changed since they were tried. The first priority is first, and then who was first.
func Due(all []Circuit, now, after, seen int64) (out []Circuit) {
	for _, c := range all {
		if c.Moves(now) && now >= c.Lost+after && c.Tries.Due(now, seen) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Circuit) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Moves reports whether a circuit may be moved at all: it is committed, no change set of it is on its way, and it has
// begun, or will soon. Who books another path asks again, of the record that it replaces.
func (c Circuit) Moves(now int64) bool {
	stands := c.Life.State == life.Committed || c.Life.State == life.Interrupted
	return stands && c.Life.Gone && !c.Life.Open && !c.Hold && now < c.Life.End && now >= c.Life.Start-Ahead
}

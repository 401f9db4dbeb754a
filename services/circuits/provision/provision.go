// Package provision decides when a circuit is put on routers, which change set it requests, and what becomes of the
// circuit by the outcome of the change set. It knows no clock, store or router.
//
// In: circuits as they are recorded, moments, change sets of services/push. Out: what to tell services/circuits/life,
// and which circuits request a change set together. Next: services/circuits, which records, requests and reports.
//
// A change set is requested in two steps. Its name, made of a circuit and a number that the circuit's record counts, is
// written into the records of all circuits that share it, and then it is requested under that name. A replica that
// finds a record with a name, and no change set of it, repeats the request: that makes the same one.
//
// Mutation testing: 66 of 70 killed (docs/reference/mutants.md).
package provision

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millrace/millrace/services/circuits/life"
)

// Circuit is what is known of one.
type Circuit struct {
	ID   string
	Life life.Circuit
	// Traffic: it names packets, so there is something to put on routers.
	Traffic bool
	// Early: it has its capacity between now and its start, or may have it.
	Early bool
	// Punctual: its start is when it is to be carried, and it was not carried before.
	Punctual bool
	// Late: it was reported late.
	Late bool
	// Change names the change set that was requested last, for ChangeAttempt of Life, at the second Asked. Tries counts
	// all that were, and Settled those until none was wanted any more.
	Change        string
	ChangeAttempt int
	Asked         int64
	Tries         int
	Settled       int
}

// Begin is what to tell a circuit that is to be put on routers now: lead seconds before its start, if nobody else has
// its capacity until then. Who tells it books that first. Routers then have it when it starts.
func Begin(c Circuit, now, lead int64) (life.Event, bool) {
	if !c.Early {
		lead = 0
	}
	due := c.Life.State == life.Scheduled && !c.Life.Deactivated && c.Traffic && now+lead >= c.Life.Start && now < c.Life.End
	return life.Event{Kind: life.Begin, Now: max(now, c.Life.Start)}, due
}

// IsLate is whether a circuit's start is over, and routers were not proven to carry it. That is reported once.
func IsLate(c Circuit, now int64) bool {
	waits := c.Life.State == life.Committed || c.Life.State == life.Scheduled || c.Life.State == life.Provisioning
	return waits && c.Punctual && c.Life.Verified == 0 && !c.Life.Deactivated && c.Traffic && !c.Late && now > c.Life.Start && now < c.Life.End
}

// Asks reports whether a circuit needs a change set and has requested none.
func Asks(c Circuit) bool {
	return c.Life.Open && (c.Change == "" || c.ChangeAttempt != c.Life.Attempt)
}

// wait is how many seconds after it asked last a circuit may ask again: 1, 2, 4 and so on to 32. The first time is at
// once, also where earlier change sets of it came to their end.
func wait(c Circuit) int64 { return int64(1) << min(c.Tries-c.Settled, 6) >> 1 }

// due reports whether a circuit may ask again. A wall clock may have been set back since it asked, or the replica that
// wrote the moment may be ahead: a moment that lies further ahead than the pause says nothing. No pause is then longer
// than twice its length.
func due(c Circuit, now int64) bool { return now >= c.Asked+wait(c) || c.Asked > now+wait(c) }

// Batch are the circuits that request a change set together now, the one that gives it its name first; none while one
// that was requested is on its way: a change set carries all circuits, so circuits that need one meanwhile share the
// next one.
func Batch(all []Circuit, now int64, underWay bool) (out []Circuit) {
	if underWay {
		return nil
	}
	for _, c := range all {
		if Asks(c) && due(c, now) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Circuit) int {
		return cmp.Or(cmp.Compare(a.Life.Start, b.Life.Start), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Name is that of the next change set of a circuit. No other record ever counts to the same one.
func Name(c Circuit) string { return fmt.Sprintf("circuit %s, %d", c.ID, c.Tries+1) }

package soak

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/e2e/plane"
)

// faultTable is what can break: what a change set stands on, the bus, the store, and every other service.
func faultTable() []plane.Fault {
	all := append([]plane.Fault{plane.BusFault}, plane.ChangeSetFaults...)
	for _, service := range services {
		if service != "push" {
			all = append(all, plane.Killed(service), plane.Stopped(service))
		}
	}
	return all
}

// fewest is how many faults there are in the shortest run.
const fewest = 3

// breakThings lets faults come one after another, each kind once before any comes again, and waits after each until
// everything goes by itself.
func (w *world) breakThings(t *testing.T, length time.Duration, seed uint64) {
	t.Helper()
	dice := rand.New(rand.NewPCG(seed, 0))
	w.goesOn(t, "before anything breaks", w.begin)
	var deck []plane.Fault
	for n := 0; n < fewest || time.Since(w.begin) < length; n++ {
		if len(deck) == 0 {
			deck = faultTable()
			dice.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		f, longer, busy := deck[0], time.Duration(1+dice.IntN(2)), dice.IntN(3) > 0
		deck = deck[1:]
		if length > 0 && busy { // two of three while something is being done rather than between two nightly runs
			w.awaitNightlyRun(t)
			time.Sleep(time.Duration(dice.Int64N(int64(4 * time.Second))))
		}
		s := w.diary.struck(f.Name)
		f.Strike(t, w.Plane)
		time.Sleep(f.Lasts * longer)
		f.Heal(t, w.Plane)
		w.diary.mark(&s.healed)
		t.Logf("%s: %s", time.Since(w.begin).Round(time.Second), f.Name)
		w.goesOn(t, "after "+f.Name, s.healed)
		w.diary.mark(&s.again)
	}
	w.goesOn(t, "at the end", time.Now())
}

// awaitNightlyRun waits until a nightly run begins.
func (w *world) awaitNightlyRun(t *testing.T) {
	t.Helper()
	before := w.nightlyRuns.Load()
	w.await(t, "a nightly run begins", func() bool { return w.nightlyRuns.Load() > before })
}

// goesOn waits until everything that began after a time has succeeded once, the store has what had been taken, and the
// PEs have the weights in force.
func (w *world) goesOn(t *testing.T, when string, since time.Time) {
	t.Helper()
	for _, k := range kinds {
		w.await(t, when+": "+string(k), func() bool { return w.diary.since(k, since) > 0 })
	}
	taken := w.truth.count()
	w.await(t, when+": flows are stored", func() bool {
		_, flows, err := w.stored(t.Context())
		return err == nil && flows >= taken
	})
	w.await(t, when+": weights are spread", func() bool { return w.spread(t.Context()) })
}

// allowed is longer than a test waits elsewhere: a round that a fault meets has two calls of its patience and a
// rollback before what failed is done again in the next nightly run.
const allowed = 5 * time.Minute

// await waits for a fact.
func (w *world) await(t *testing.T, what string, fact func() bool) {
	t.Helper()
	for end := time.Now().Add(allowed + 4*w.pace.nightlyRun); !fact(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			for _, k := range kinds {
				_, failed := w.diary.count(k)
				for _, a := range failed[max(0, len(failed)-3):] {
					t.Logf("%s failed after %s: %s", k, a.begin.Sub(w.begin).Round(time.Second), a.err)
				}
			}
			t.Fatalf("does not go on by itself: %s", what)
		}
	}
}

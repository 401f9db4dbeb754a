package admit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
)

// What is chosen is never of a priority as good as the request's or better, makes room, is needed to the last circuit,
// and costs as little as the best of all subsets, each of which is counted second by second.
func TestWhatIsDisplacedIsTheLeastOfAllSubsets(t *testing.T) {
	chosen, several, none := 0, 0, 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 12))
		w := newWorld(t, r)
		q := w.ask(r)
		for q.Bytes > 0 {
			q = w.ask(r)
		}
		q.ApartFrom, q.Rate = nil, min(q.Rate, 5)
		if _, refusal := w.Decide(q); refusal == nil || refusal.Code != Capacity {
			continue
		}
		of, setup := w.holders(r, q), r.Int64N(3)
		before := w.shape()
		got := w.Displace([]Request{q}, setup, of)
		if w.shape() != before {
			t.Fatalf("seed %d: the book has changed", seed)
		}
		want, possible := w.cheapest(q, setup, of)
		if (got != nil) != possible {
			t.Fatalf("seed %d: chosen %v, possible %t", seed, got, possible)
		}
		if got == nil {
			none++
			continue
		}
		chosen++
		if len(got) > 1 {
			several++
		}
		if is := w.priceOf(got); is != want {
			t.Errorf("seed %d: %v costs %v, want %v", seed, got, is, want)
		}
		w.isNeeded(t, seed, q, setup, got)
		d := w.displacing([]Request{q}, setup, of)
		enough := d.named(d.enough())
		d.only(nil)
		w.isNeeded(t, seed, q, setup, enough) // what is chosen where the search meets its bound
	}
	t.Logf("%d chosen, %d of several circuits, %d none", chosen, several, none)
	if chosen < 80 || several < 20 || none < 20 {
		t.Errorf("%d chosen, %d of several, %d none: too few to mean something", chosen, several, none)
	}
}

// isNeeded looks whether each of those that were chosen may go, and must.
func (w *world) isNeeded(t *testing.T, seed uint64, q Request, setup int64, got []Holder) {
	t.Helper()
	for _, kept := range append([]Holder{{}}, got...) {
		if kept.ID != "" && kept.Priority <= setup {
			t.Errorf("seed %d: %v is displaced by setup priority %d", seed, kept, setup)
		}
		w.without(got, kept, func() {
			if fits := w.fits(q); fits != (kept.ID == "") {
				t.Errorf("seed %d: it fits: %t, where %q is kept", seed, fits, kept.ID)
			}
		})
	}
}

// holders are at most 10 of the circuits within a request's window, with priorities at random.
func (w *world) holders(r *rand.Rand, q Request) (out []Holder) {
	var ids []string
	for id, k := range w.circuits {
		if overlap(k.slots[0].Window, q.Window) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for i, id := range ids[:min(10, len(ids))] {
		out = append(out, Holder{ID: id, Names: []string{id}, Priority: r.Int64N(Priorities), Created: int64(i)})
	}
	return out
}

// without calls do while the oracle lacks what some holders have, but for one of them.
func (w *world) without(of []Holder, kept Holder, do func()) {
	change := func(sign int64) {
		for _, h := range of {
			g, _ := w.Grant(h.ID)
			for _, id := range g.Path {
				l, _ := w.graph.LinkIndex(id)
				for _, s := range g.Slots {
					if h.ID != kept.ID {
						w.each(s.Window, func(at int) { w.left[l][at] += sign * s.Rate })
					}
				}
			}
		}
	}
	change(1)
	do()
	change(-1)
}

// cheapest tries every subset.
func (w *world) cheapest(q Request, setup int64, of []Holder) (best price, possible bool) {
	for set := range 1 << len(of) {
		var some []Holder
		allowed := true
		for i, h := range of {
			if set&(1<<i) != 0 {
				g, _ := w.Grant(h.ID)
				allowed = allowed && h.Priority > setup && overlap(g.Slots[0].Window, q.Window)
				some = append(some, h)
			}
		}
		if p := w.priceOf(some); allowed && (!possible || p.compare(best) < 0) {
			w.without(some, Holder{}, func() {
				if w.fits(q) {
					best, possible = p, true
				}
			})
		}
	}
	return best, possible
}

func (w *world) priceOf(of []Holder) (p price) {
	for _, h := range of {
		g, _ := w.Grant(h.ID)
		p.circuits[h.Priority]++
		p.rate += g.Slots[0].Rate
	}
	return p
}

// shape is all that is booked.
func (w *world) shape() (out string) {
	for l := range int32(w.graph.Links()) {
		for s := range int64(seconds + 1) {
			out += fmt.Sprint(w.links[l].LeastFree(calendar.Window{Start: s, End: s + 1}, calendar.Hard), " ")
		}
	}
	return out + fmt.Sprint(len(w.circuits))
}

package day

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
)

// account adds a grant to the oracle's seconds, or takes it from them.
func (w *world) account(g admit.Grant, sign int64) {
	for _, id := range slices.Concat(g.Path, g.Backup) {
		l, _ := w.graph.LinkIndex(id)
		for _, s := range g.Slots {
			for at := s.Start; at < min(s.End, w.last); at++ {
				w.booked[l][at] += sign * s.Rate
				if sign > 0 && w.booked[l][at] > reservable {
					w.counts["overbooked"]++
				}
			}
		}
	}
}

// fits tries every path that there is, second by second.
func (w *world) fits(q admit.Request) bool {
	from, _ := w.graph.NodeIndex(q.From)
	to, _ := w.graph.NodeIndex(q.To)
	var free []bool
	for l := range w.booked {
		most := slices.Max(w.booked[l][q.Start:min(q.End, w.last)])
		free = append(free, most+q.Rate <= reservable)
	}
	reached := []int32{from} // a path of free links is one through the graph of free links
	for n := 0; n < len(reached); n++ {
		for l := range int32(w.graph.Links()) {
			if next := w.graph.To(l); free[l] && w.graph.From(l) == reached[n] && !slices.Contains(reached, next) {
				reached = append(reached, next)
			}
		}
	}
	return slices.Contains(reached, to)
}

// compare holds so many seconds of each link's calendar against the oracle's.
func (w *world) compare(t *testing.T, seconds int) {
	t.Helper()
	for l := range w.booked {
		c, err := w.book.Calendar(w.graph.Link(int32(l)).ID)
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(seconds) {
			at := n
			if int64(seconds) < w.last {
				at = w.now + w.random.Int64N(w.last-w.now)
			}
			if free := c.LeastFree(calendar.Window{Start: at, End: at + 1}, calendar.Soft); free != reservable-w.booked[l][at] {
				t.Fatalf("second %d: of link %d %d bit/s are free in second %d, and %d by the oracle", w.now, l, free, at, reservable-w.booked[l][at])
			}
			w.counts["seconds compared"]++
		}
	}
}

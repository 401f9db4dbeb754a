// Package day lets services/circuits/admit and services/circuits/life work through a day of bookings on one clock,
// beside an oracle that counts every second of every link.
//
// In: a seed, and how many hours. Out: verdicts, and the figures of docs/reference/circuits.md. Next: nothing; it is a
// test.
package day

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/millrace/millrace/services/circuits/life"
)

var hours = flag.Int("hours", 1, "how many simulated hours requests come for; 24 is what the documents state")

const (
	hour = 3600
	// lead is how far ahead a circuit starts, length how long it lasts, at most; a hold lasts five minutes.
	lead, length, hold = 2 * hour, 4 * hour, 300
	// drain is how long the clock goes on when no requests come any more: until everything is over.
	drain = lead + length + hour
)

// A day: 0 overbooked, 0 leaked, nothing refused for which there is room.
func TestDay(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(24, uint64(*hours))), int64(*hours)*hour+drain)
	for w.now = 0; w.now < int64(*hours)*hour; w.now++ {
		if w.random.IntN(8) == 0 {
			w.request(t)
		}
		w.second(t)
		if w.now%600 == 0 {
			w.compare(t, 20)
		}
	}
	t.Logf("%d hours: %v", *hours, w.counts)
	for end := w.now + drain; w.now < end; w.now++ {
		w.second(t)
	}
	w.compare(t, int(w.last))
	t.Logf("and when all are over: %v", w.counts)
	if w.counts["overbooked"] > 0 {
		t.Errorf("%d seconds of links are overbooked", w.counts["overbooked"])
	}
	for id := range w.circuits {
		t.Errorf("%s is not over: %+v", id, w.circuits[id])
	}
	if w.counts["entered"] != w.counts["removed"] || w.counts["entered"] < 100 {
		t.Errorf("%d were entered, and %d removed", w.counts["entered"], w.counts["removed"])
	}
	for link := range w.booked {
		for at, rate := range w.booked[link] {
			if rate != 0 {
				t.Fatalf("link %d has %d bit/s left in second %d", link, rate, at)
			}
		}
	}
	for _, end := range []life.State{life.Released, life.Expired, life.Cancelled, life.Failed} {
		if w.counts[string(end)] == 0 {
			t.Errorf("none has %s", end)
		}
	}
}

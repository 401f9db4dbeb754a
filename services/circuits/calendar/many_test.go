package calendar

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// day is one number for each second, long enough for hundreds of blocks.
type day [60_000]int64

func (d *day) add(w Window, rate int64) {
	for s := w.Start; s < w.End; s++ {
		d[s] += rate
	}
}

// next is the first window of a length with at most so much in use.
func (d *day) next(from, length, most int64) int64 {
	for at := from; at < int64(len(d)); at++ {
		if d[at] > most {
			from = at + 1
		} else if at+1-from == length {
			break
		}
	}
	return from
}

// manyRate is more than the bookings of TestManyBlocks come to.
const manyRate = 1_000_000

func TestManyBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := newCalendar(t, manyRate, manyRate)
	d := new(day)
	var booked []reservation
	for len(booked) < 12_000 {
		start := r.Int64N(int64(len(d)) - 1)
		w := Window{Start: start, End: min(start+1+r.Int64N(600), int64(len(d)))}
		b := reservation{w, r.Int64N(100) + 1}
		if err := c.Book(b.Window, b.rate, Soft); err != nil {
			t.Fatal(err)
		}
		d.add(b.Window, b.rate)
		booked = append(booked, b)
	}
	if len(c.used.blocks) < 100 {
		t.Fatalf("%d blocks are no tree to speak of", len(c.used.blocks))
	}
	compareDay(t, r, c, d)
	r.Shuffle(len(booked), func(i, j int) { booked[i], booked[j] = booked[j], booked[i] })
	for i, b := range booked {
		if err := c.Remove(b.Window, b.rate); err != nil {
			t.Fatal(err)
		}
		d.add(b.Window, -b.rate)
		if i%4_000 == 0 {
			compareDay(t, r, c, d)
		}
	}
	if c.Size() != 0 || len(c.used.blocks) != 1 {
		t.Errorf("all removed; %d steps in %d blocks are left", c.Size(), len(c.used.blocks))
	}
}

func TestAFullBlockIsCutInTwo(t *testing.T) {
	l := newLine() // with one step
	for at := range int64(blockSteps - 1) {
		l.add(at, 1)
	}
	if len(l.blocks) != 1 || len(l.blocks[0]) != blockSteps {
		t.Errorf("%d steps in %d blocks, the first of %d; want one of %d", l.size(), len(l.blocks), len(l.blocks[0]), blockSteps)
	}
	if l.add(blockSteps, 1); len(l.blocks) != 2 {
		t.Errorf("one step more than a block holds is in %d blocks", len(l.blocks))
	}
}

func compareDay(t *testing.T, r *rand.Rand, c *Calendar, d *day) {
	t.Helper()
	for range 200 {
		from := r.Int64N(int64(len(d)) - 1)
		w := Window{from, from + 1 + r.Int64N(int64(len(d))-from)}
		most, least := c.used.extremes(w.Start, w.End)
		if part := d[w.Start:w.End]; most != slices.Max(part) || least != slices.Min(part) {
			t.Fatalf("in use within %v: %d to %d, want %d to %d", w, least, most, slices.Min(part), slices.Max(part))
		}
		length := r.Int64N(500) + 1
		limit := least + (most-least)*r.Int64N(100)/100
		got, ok := Path{c}.NextWindow(from, length, manyRate-limit, Soft)
		if want := d.next(from, length, limit); !ok || got.Start != want {
			t.Fatalf("next %d s with %d in use from %d: %v %t, want %d", length, limit, from, got, ok, want)
		}
	}
}

// A block that is full is cut in two of its own memory, so that the old memory is given up.
func TestAStepCostsLittleMemory(t *testing.T) {
	if size := unsafe.Sizeof(step{}); size != 16 {
		t.Errorf("a step has %d bytes", size)
	}
	c := newCalendar(t, MaxRate, MaxRate)
	for i := range int64(10_000) {
		if err := c.Add(Window{2 * i, 2*i + 1}, 1); err != nil {
			t.Fatal(err)
		}
	}
	room := 0
	for _, b := range c.used.blocks {
		room += cap(b)
		if len(b) > blockSteps {
			t.Fatalf("a block of %d steps", len(b))
		}
	}
	if room > 4*c.Size() {
		t.Errorf("room for %d steps where %d are", room, c.Size())
	}
}

package calendar

import (
	"math/rand/v2"
	"testing"
)

const year = 365 * 86400

// busy is a port of 100 Gbit/s with bookings of an hour to a week, spread over a year, up to what it takes.
func busy(b *testing.B, bookings int) *Calendar {
	b.Helper()
	r := rand.New(rand.NewPCG(uint64(bookings), 1))
	rate := int64(100*gbit) * 50 / int64(bookings) // some 40 % are in use at a time
	c, err := New(100*gbit, 100*gbit)
	if err != nil {
		b.Fatal(err)
	}
	for range bookings {
		if err := c.Book(request(r), r.Int64N(rate)+1, Soft); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

func request(r *rand.Rand) Window {
	start := r.Int64N(year)
	return Window{start, start + 3600 + r.Int64N(7*86400)}
}

func benchmarkAdmission(b *testing.B, bookings int) {
	c := busy(b, bookings)
	r := rand.New(rand.NewPCG(3, 4))
	for b.Loop() {
		w := request(r)
		if c.Book(w, gbit, Soft) == nil {
			if err := c.Remove(w, gbit); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// One request each: what is least free, the booking, and its removal, so that the next one meets the same.
func BenchmarkAdmission1000(b *testing.B)   { benchmarkAdmission(b, 1_000) }
func BenchmarkAdmission10000(b *testing.B)  { benchmarkAdmission(b, 10_000) }
func BenchmarkAdmission100000(b *testing.B) { benchmarkAdmission(b, 100_000) }

// The next six hours at a rate that is rarely free, over six links of 10,000 bookings each.
func BenchmarkNextWindowSixHops(b *testing.B) {
	var path Path
	for range 6 {
		path = append(path, busy(b, 10_000))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for b.Loop() {
		path.NextWindow(r.Int64N(year), 6*3600, 60*gbit, Soft)
	}
}

// The worst there is: gaps on every link that never meet, so that each is looked at.
func BenchmarkNextWindowNoGapMeets(b *testing.B) {
	var path Path
	for hop := range int64(6) {
		c, err := New(100*gbit, 100*gbit)
		if err != nil {
			b.Fatal(err)
		}
		for i := range int64(10_000) {
			if err := c.Book(Window{i*600 + hop, i*600 + hop + 599}, 90*gbit, Soft); err != nil {
				b.Fatal(err)
			}
		}
		path = append(path, c)
	}
	for b.Loop() {
		path.NextWindow(0, 3600, 50*gbit, Soft)
	}
}

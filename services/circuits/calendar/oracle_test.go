package calendar

import (
	"math/rand/v2"
	"testing"
)

// horizon is how many seconds the oracle counts one by one; one more stands for all that follow.
const horizon = 300

// seconds is the oracle: one number for each second.
type seconds struct {
	soft, hard int64
	booked     [horizon + 1]int64
	left       [horizon + 1]int64
}

func newSeconds(soft, hard int64) *seconds {
	s := &seconds{soft: soft, hard: hard}
	s.setOutages(nil)
	return s
}

func (s *seconds) each(w Window, do func(at int)) {
	for at := range s.booked {
		if w.Start <= int64(at) && (int64(at) < w.End || w.End == Forever) {
			do(at)
		}
	}
}

func (s *seconds) add(w Window, rate int64) { s.each(w, func(at int) { s.booked[at] += rate }) }

func (s *seconds) setOutages(outages []Outage) {
	for at := range s.left {
		s.left[at] = s.hard
	}
	for _, o := range outages {
		s.each(o.Window, func(at int) { s.left[at] = min(s.left[at], o.Left) })
	}
}

func (s *seconds) free(at int, limit Cap) int64 {
	free := s.left[at] - s.booked[at]
	if limit == Soft {
		free -= s.hard - s.soft
	}
	return free
}

func leastFree(links []*seconds, w Window, limit Cap) int64 {
	least := int64(MaxRate)
	for _, s := range links {
		s.each(w, func(at int) { least = min(least, s.free(at, limit)) })
	}
	return least
}

// nextWindow tries every second. What is free at the horizon stays free.
func nextWindow(links []*seconds, from, length, rate int64, limit Cap) (Window, bool) {
	for at := from; at <= horizon; at++ {
		w := Window{Start: at, End: at + length}
		if length > horizon {
			w.End = Forever
		}
		if w.End <= horizon+length && leastFree(links, Window{w.Start, min(w.End, Forever)}, limit) >= rate {
			return Window{Start: at, End: at + length}, true
		}
	}
	return Window{}, false
}

// pair is a calendar, and the oracle with the same calls.
type pair struct {
	*Calendar
	oracle *seconds
	booked []reservation
}

type reservation struct {
	Window
	rate int64
}

func newPair(t *testing.T, r *rand.Rand) *pair {
	t.Helper()
	hard := r.Int64N(40) + 1
	soft := r.Int64N(hard + 1)
	c, err := New(soft, hard)
	if err != nil {
		t.Fatal(err)
	}
	return &pair{Calendar: c, oracle: newSeconds(soft, hard)}
}

func anyWindow(r *rand.Rand) Window {
	start := r.Int64N(horizon - 1)
	w := Window{Start: start, End: start + 1 + r.Int64N(horizon-start)}
	switch r.IntN(12) {
	case 0:
		w.End = Forever
	case 1:
		w.End = w.Start + 1
	}
	return w
}

// change does one thing at random to both.
func (p *pair) change(t *testing.T, r *rand.Rand) {
	t.Helper()
	w, rate := anyWindow(r), r.Int64N(9)+1
	switch r.IntN(10) {
	case 0, 1, 2, 3:
		p.book(t, w, rate, Cap(r.IntN(2)))
	case 4, 5:
		if err := p.Add(w, rate); err != nil {
			t.Fatal(err)
		}
		p.oracle.add(w, rate)
		p.booked = append(p.booked, reservation{w, rate})
	case 6:
		var outages []Outage
		for range r.IntN(4) {
			outages = append(outages, Outage{Window: anyWindow(r), Left: r.Int64N(p.hard + 1)})
		}
		if err := p.SetOutages(outages); err != nil {
			t.Fatal(err)
		}
		p.oracle.setOutages(outages)
	default:
		p.remove(t, r)
	}
}

func (p *pair) book(t *testing.T, w Window, rate int64, limit Cap) {
	t.Helper()
	fits := leastFree([]*seconds{p.oracle}, w, limit) >= rate
	if err := p.Book(w, rate, limit); (err == nil) != fits {
		t.Fatalf("book %v at %d up to cap %d: %v; fits: %t", w, rate, limit, err, fits)
	}
	if fits {
		p.oracle.add(w, rate)
		p.booked = append(p.booked, reservation{w, rate})
	}
}

func (p *pair) remove(t *testing.T, r *rand.Rand) {
	t.Helper()
	if len(p.booked) == 0 {
		return
	}
	i := r.IntN(len(p.booked))
	b := p.booked[i]
	if err := p.Remove(b.Window, b.rate); err != nil {
		t.Fatal(err)
	}
	p.oracle.add(b.Window, -b.rate)
	p.booked = append(p.booked[:i], p.booked[i+1:]...)
}

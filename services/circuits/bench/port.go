package main

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/services/circuits/calendar"
)

const (
	hour = 3600
	year = 365 * 24 * hour
	// longest booking; the shortest is one hour.
	longest = 7 * 24 * hour
	rate    = 100_000_000_000 // of the port, bit/s
)

// booking is from one full hour to another, as people book.
type booking struct {
	calendar.Window
	rate int64
}

// port is one port with so many bookings.
type port struct {
	Bookings    int     `json:"bookings"`
	Requests    int     `json:"requests"`
	AdmissionUS float64 `json:"admission_us"`
	Overbooked  int     `json:"overbooked"`
	Granted     int     `json:"granted"`
	OSCARS      struct {
		AdmissionUS float64 `json:"admission_us"`
		Overbooked  int     `json:"overbooked"`
		Granted     int     `json:"granted"`
		SweepAllUS  float64 `json:"sweep_all_us"`
	} `json:"oscars"`
}

// requests makes bookings at random, one to four units each, so that a given number of them fills four fifths of the
// port on the average.
func requests(bookings int) func() booking {
	r := rand.New(rand.NewPCG(uint64(bookings), 1))
	unit := int64(rate) * 4 / 5 * year / (int64(bookings) * (longest / 2) * 5 / 2)
	return func() booking {
		start := r.Int64N(year/hour) * hour
		end := start + (1+r.Int64N(longest/hour))*hour
		return booking{Window: calendar.Window{Start: start, End: end}, rate: (1 + r.Int64N(4)) * unit}
	}
}

// rush puts a booking into the middle week of the year, so that the port fills up.
func rush(b booking) booking {
	length := b.End - b.Start
	b.Start = year/2/hour*hour + b.Start%longest
	b.End = b.Start + length
	return b
}

// hours is the oracle: what is booked in each hour.
type hours [(year + longest) / hour]int64

// add books, and reports whether it is more than the port has.
func (h *hours) add(b booking) bool {
	over := false
	for at := b.Start / hour; at < b.End/hour; at++ {
		h[at] += b.rate
		over = over || h[at] > rate
	}
	return over
}

// fill is a port with so many bookings, in both methods and both oracles.
func fill(bookings int, next func() booking) (*calendar.Calendar, *oscars, *hours, error) {
	c, err := calendar.New(rate, rate)
	if err != nil {
		return nil, nil, nil, err
	}
	o, booked := &oscars{reservable: rate}, new(hours)
	for len(o.list) < bookings {
		b := next()
		if c.Book(b.Window, b.rate, calendar.Soft) == nil {
			o.list = append(o.list, b)
			booked.add(b)
		}
	}
	return c, o, booked, nil
}

// measurePort asks both methods the same, each on top of what it has granted itself.
func measurePort(bookings, asked int) (port, error) {
	p := port{Bookings: bookings, Requests: asked}
	next := requests(bookings)
	c, o, ours, err := fill(bookings, next)
	if err != nil {
		return p, err
	}
	theirs := *ours
	var all []booking
	for range asked {
		all = append(all, rush(next()))
	}
	p.OSCARS.SweepAllUS = micros(func() { o.availBandwidth(o.list) })
	var granted []booking
	p.AdmissionUS = micros(func() {
		for _, b := range all {
			if c.Book(b.Window, b.rate, calendar.Soft) == nil {
				granted = append(granted, b)
			}
		}
	}) / float64(asked)
	p.Granted, p.Overbooked = len(granted), over(ours, granted)
	p.OSCARS.AdmissionUS = micros(func() {
		for _, b := range all {
			o.admit(b)
		}
	}) / float64(asked)
	granted = o.list[bookings:]
	p.OSCARS.Granted, p.OSCARS.Overbooked = len(granted), over(&theirs, granted)
	return p, nil
}

// over counts the bookings that were granted and for which there was no room.
func over(h *hours, granted []booking) int {
	n := 0
	for _, b := range granted {
		if h.add(b) {
			n++
		}
	}
	return n
}

// micros is the processor time of this process, on all cores: others on the machine do not count.
func micros(do func()) float64 {
	start := processor()
	do()
	return float64(processor()-start) / 1000
}

func processor() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

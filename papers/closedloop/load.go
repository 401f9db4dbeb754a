package closedloop

import (
	"fmt"
	"math"
)

// A day is played in 48 s, an hour in two: 10 Gbit/s for a real day are 10^11 packets. The law's clock is compressed as
// the load is; buffers and round trips are not, so that a burst is as long beside them as one of half an hour is in a
// day.
const (
	hour       = 2.0
	compressed = 3600 / hour
)

// load is what is offered over a run, in seconds of simulated time.
type load struct {
	name string
	// udp are beta's rates, Gbit/s of payload, each for a step.
	udp  []float64
	step float64
	// TCP of alpha runs from start to stop; figures are of from to stop.
	start, from, stop float64
	reno              bool
	// hours: figures are of a day, hour by hour.
	hours bool
	// known: the law has seen days like this one.
	known bool
}

func (l load) end() float64 { return float64(len(l.udp)) * l.step }

// experiment6 is section III-G in less time: TCP from 3 s on instead of from 53, and steady from 8 s on.
func experiment6(law string, udp float64, end float64) load {
	l := load{name: fmt.Sprintf("experiment 6, %s, %g Gbit/s of UDP", law, udp), step: 1, start: 3, from: 8, stop: end, reno: law == "Reno"}
	for range int(end) {
		l.udp = append(l.udp, udp)
	}
	return l
}

// surge is what the paper fears: the background grows while the alpha flow is there.
func surge() load {
	l := experiment6("H-TCP", 2, 16)
	l.name = "experiment 6, H-TCP, UDP grows from 2 to 3 Gbit/s"
	for i := 10; i < 16; i++ {
		l.udp[i] = 3
	}
	return l
}

// The day's least and most, Gbit/s of payload: the most is experiment 6's larger load.
const dayLeast, dayMost = 0.4, 3.0

// dayLoad is least at 03:00 and most at 15:00; alpha is there all day, which is the worst for beta.
func dayLoad() load {
	const quarters = 96
	l := load{name: "a day", step: hour / 4, stop: 24 * hour, hours: true, known: true}
	for q := range quarters {
		l.udp = append(l.udp, dayAt((float64(q)+0.5)/4))
	}
	return l
}

func dayAt(hours float64) float64 {
	return dayLeast + (dayMost-dayLeast)*(1-math.Cos(2*math.Pi*(hours-3)/24))/2
}

// all runs in the order of the table.
func all(quick bool) (runs []*run) {
	add := func(l load, shares ...share) {
		for _, s := range shares {
			runs = append(runs, &run{load: l, share: s})
		}
	}
	if quick {
		add(experiment6("H-TCP", 3, 9), fixedShare(5), fixedShare(20), looped())
		return runs
	}
	for _, law := range []string{"Reno", "H-TCP"} {
		for _, udp := range []float64{2, 3} {
			add(experiment6(law, udp, 14), fixedShare(5), fixedShare(20), looped())
		}
	}
	add(surge(), fixedShare(5), fixedShare(20), looped())
	add(dayLoad(), fixedShare(5), fixedShare(20), fixedShare(40), looped())
	strict := dayLoad()
	strict.name = "a day, no queue lends"
	for _, s := range []share{fixedShare(20), fixedShare(40), looped()} {
		s.strict = true
		add(strict, s)
	}
	return runs
}

package split

import (
	"slices"
	"time"

	"github.com/millrace/millrace/internal/portcounters"
)

// Counters are those of one queue of a port, each oldest first.
type Counters struct{ Octets, Packets, Drops []portcounters.Reading }

// Steady is for how long no counter of a port may have gone back before a sample of it counts: after a restart loads
// are unlike those before, and a counter of 32 bits goes back again and again, so that nothing it says is believed.
const Steady = 5 * time.Minute

// Samples are what counters come to from step to step, from the first reading that all octets have, or from after where
// that is later, to the last. Drops count with the mean length of the packets that were sent in the step; a queue
// without counters of packets or drops dropped nothing. Counters that are missing, or have a single reading, give none,
// and neither do steps that are not Steady, nor those in a pause, where the octets of a queue have no reading for
// longer than gap.
func Samples(capacity float64, alpha, beta Counters, step, gap time.Duration, after time.Time) (out []Sample) {
	var lines [2][3]curve
	var back []time.Time
	var pauses []pause
	from, to := after, time.Time{}
	for q, c := range []Counters{alpha, beta} {
		for k, list := range [][]portcounters.Reading{c.Octets, c.Packets, c.Drops} {
			var went []time.Time
			lines[q][k], went = unwrap(list)
			back = append(back, went...)
		}
		octets := lines[q][0]
		if len(octets) < 2 {
			return nil
		}
		pauses = append(pauses, octets.pauses(gap)...)
		if first := octets[0].at; first.After(from) {
			from = first
		}
		if last := octets[len(octets)-1].at; to.IsZero() || last.Before(to) {
			to = last
		}
	}
	for at := from; !at.Add(step).After(to); at = at.Add(step) {
		s := Sample{At: at.Add(step), Capacity: capacity}
		if slices.ContainsFunc(back, func(t time.Time) bool { return t.After(at.Add(-Steady)) && !t.After(s.At) }) {
			continue
		}
		if slices.ContainsFunc(pauses, func(p pause) bool { return p.from.Before(s.At) && p.to.After(at) }) {
			continue
		}
		s.Alpha, s.Beta = load(lines[0], at, s.At), load(lines[1], at, s.At)
		out = append(out, s)
	}
	return out
}

// curve is a counter that never goes back, as points between which it grows evenly.
type curve []point

type point struct {
	at    time.Time
	value float64
}

// pause is between two readings that are so far apart that their mean says nothing of any step between them.
type pause struct{ from, to time.Time }

// pauses are those longer than gap. Where a router has very many counters, the flow store thins those of days, so that
// all readings are far apart: there a pause is longer than two of the usual distances.
func (l curve) pauses(gap time.Duration) (out []pause) {
	gap = max(gap, 2*l.usual())
	for i := 1; i < len(l); i++ {
		if l[i].at.Sub(l[i-1].at) > gap {
			out = append(out, pause{l[i-1].at, l[i].at})
		}
	}
	return out
}

// usual is the median of the distances between readings, the lower one of two. A single distance is not usual.
func (l curve) usual() time.Duration {
	if len(l) < 3 {
		return 0
	}
	var all []time.Duration
	for i := 1; i < len(l); i++ {
		all = append(all, l[i].at.Sub(l[i-1].at))
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// unwrap adds up what a counter grew by, and notes when it was seen to have gone back. A reading that is not newer than
// the one before says nothing.
func unwrap(list []portcounters.Reading) (out curve, back []time.Time) {
	sum, last := 0.0, portcounters.Reading{}
	for i, r := range list {
		if i > 0 && !r.At.After(last.At) {
			continue
		}
		if r.Value < last.Value {
			back = append(back, r.At)
		} else if i > 0 {
			sum += float64(r.Value - last.Value)
		}
		out, last = append(out, point{r.At, sum}), r
	}
	return out, back
}

// at is the counter at a time; before its first and after its last point it stands still.
func (l curve) at(t time.Time) float64 {
	i, exact := slices.BinarySearchFunc(l, t, func(p point, t time.Time) int { return p.at.Compare(t) })
	switch {
	case len(l) == 0:
		return 0
	case exact:
		return l[i].value
	case i == 0:
		return l[0].value
	case i == len(l):
		return l[i-1].value
	}
	a, b := l[i-1], l[i]
	return a.value + (b.value-a.value)*t.Sub(a.at).Seconds()/b.at.Sub(a.at).Seconds()
}

func load(of [3]curve, from, to time.Time) Load {
	var grew [3]float64
	for i, l := range of {
		grew[i] = l.at(to) - l.at(from)
	}
	rate := 8 / to.Sub(from).Seconds()
	l := Load{Sent: grew[0] * rate}
	if grew[1] > 0 {
		l.Dropped = l.Sent * grew[2] / grew[1]
	}
	return l
}

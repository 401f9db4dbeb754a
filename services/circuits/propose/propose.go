// Package propose says which circuits a project might request for huge transfers of its hosts that were seen before. It
// knows no clock, store or network.
//
// In: the project's prefixes, alpha pairs with their evidence, the pairs of circuits that there are. Out: a rate and a
// window for each pair that no circuit is for. Next: services/circuits, which makes terms of them.
//
// Mutation testing: 56 of 60 killed (docs/reference/mutants.md).
package propose

import (
	"net/netip"
	"slices"
	"time"
)

// Pair is between which prefixes huge transfers were seen, at which ingress router.
type Pair struct {
	ID       string
	Exporter netip.Addr
	Prefixes
	Evidence []Burst
}

// Prefixes are where packets come from, and where they go.
type Prefixes struct{ Src, Dst netip.Prefix }

// Burst is what one flow sent in one interval.
type Burst struct {
	Start    time.Time
	Interval time.Duration
	Bytes    uint64
}

// Proposal is what would have been enough for a pair.
type Proposal struct {
	Pair
	// Rate in bit/s: the highest mean of an interval, in whole Mbit/s.
	Rate int64
	// Start and End are the next window of the time of day in which all bursts were, in whole quarters of an hour.
	Start, End time.Time
	// Days on which bursts were, of UTC.
	Days int
}

// Of are the proposals for a project, in the order of the pairs. A pair is the project's where one of its ends is
// within the project's prefixes. Pairs without evidence, and those that a circuit is for, are left out.
func Of(project []netip.Prefix, pairs []Pair, booked []Prefixes, now time.Time) (out []Proposal) {
	for _, p := range pairs {
		its := slices.ContainsFunc(project, func(within netip.Prefix) bool { return holds(within, p.Src) || holds(within, p.Dst) })
		has := slices.ContainsFunc(booked, func(c Prefixes) bool { return holds(c.Src, p.Src) && holds(c.Dst, p.Dst) })
		if its && !has && len(p.Evidence) > 0 {
			out = append(out, of(p, now))
		}
	}
	return out
}

func holds(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

const (
	day     = 24 * 60 * 60
	quarter = 15 * 60
	mega    = 1_000_000
)

func of(p Pair, now time.Time) Proposal {
	out := Proposal{Pair: p, Rate: mega}
	sent := map[time.Time]uint64{}
	days := map[int64]bool{}
	var used [day / quarter]bool
	for _, b := range p.Evidence {
		sent[b.Start] += b.Bytes // of several flows at once
		from, to := b.Start.Unix(), b.Start.Add(max(b.Interval, time.Second)).Unix()
		days[from/day] = true
		for at := from / quarter * quarter; at < to && at < from+day; at += quarter {
			used[at%day/quarter] = true
		}
		if b.Interval > 0 {
			out.Rate = max(out.Rate, rate(sent[b.Start], b.Interval))
		}
	}
	out.Days = len(days)
	first, length := arc(used[:])
	midnight := now.Unix() / day * day
	start := midnight + int64(first)*quarter
	if start < now.Unix() {
		start += day
	}
	out.Start, out.End = time.Unix(start, 0).UTC(), time.Unix(start+int64(length)*quarter, 0).UTC()
	return out
}

// rate in whole Mbit/s, upwards, and so that nothing overflows.
func rate(bytes uint64, over time.Duration) int64 {
	mbit := float64(bytes) * 8 / over.Seconds() / mega
	whole := int64(min(mbit, 1e9))
	if float64(whole) < mbit {
		whole++
	}
	return whole * mega
}

// arc is the shortest span of a day, which may go on after midnight, with all quarters of an hour that are used: the
// day without the longest rest.
func arc(used []bool) (first, length int) {
	n, rest, after := len(used), 0, 0
	for i, run := 0, 0; i < 2*n; i++ {
		if used[i%n] {
			run = 0
			continue
		}
		if run++; run > rest && run < n {
			rest, after = run, (i+1)%n
		}
	}
	return after, n - rest
}

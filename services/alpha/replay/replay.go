// Package replay makes nightly runs one after the other under a rule, and measures what the pairs known before each day
// caught of it (paper 002, section II: "effectiveness").
//
// In: what flows summed up to in the intervals of each day, and what the known pairs sent. Out: per run how many
// pairs came and went, and which bytes were caught, missed and falsely redirected. Next: services/alpha, for
// `millrace alpha replay` and `millrace alpha effectiveness`.
//
// Which flow is alpha, and which pairs are remembered, is decided by services/alpha/detect, as in the nightly run.
//
// Mutation testing: 10 of 10 killed (docs/reference/mutants.md).
package replay

import (
	"net/netip"
	"time"

	"github.com/millrace/millrace/services/alpha/detect"
)

// Day is what was observed in [From, To).
type Day struct {
	From, To time.Time
	// Sums in any order, above the threshold or not.
	Sums []detect.Sum
	// Traffic is that of the pairs known before the day; absent where a pair sent nothing.
	Traffic map[detect.Key]Traffic
	// Frozen are exporters that the collection-quality gate refuses.
	Frozen map[netip.Addr]bool
}

// Traffic is what one pair sent on a day.
type Traffic struct {
	// Bytes are all, AlphaFlowBytes those of flows that were alpha in an interval of the day.
	Bytes, AlphaFlowBytes uint64
	// LastSeen is zero where no record ended on the day.
	LastSeen time.Time
}

// Run is the account of one day, and of the nightly run after it.
type Run struct {
	Day time.Time
	// Known is the number of pairs before the day.
	Known, Added, AgedOut int
	// AlphaBytes were sent in intervals above the threshold, CaughtBytes of these by known pairs.
	AlphaBytes, CaughtBytes uint64
	// RedirectedBytes are all of known pairs, FalseBytes those of flows that were alpha in no interval of the day.
	RedirectedBytes, FalseBytes uint64
	Refused                     int
}

// Player is the memory under one rule, as one nightly run leaves it to the next.
type Player struct {
	Rule  detect.Rule
	Pairs []detect.Pair
}

// Run accounts for a day by the pairs known before it, and then makes the nightly run.
func (p *Player) Run(d Day) Run {
	out := Run{Day: d.From, Known: len(p.Pairs), Refused: len(d.Frozen)}
	known := make(map[detect.Key]bool, len(p.Pairs))
	seen := map[detect.Key]time.Time{}
	for _, pair := range p.Pairs {
		known[pair.Key] = true
		t := d.Traffic[pair.Key]
		out.RedirectedBytes += t.Bytes
		out.FalseBytes += t.Bytes - min(t.Bytes, t.AlphaFlowBytes)
		if !t.LastSeen.IsZero() {
			seen[pair.Key] = t.LastSeen
		}
	}
	for _, s := range d.Sums {
		key, alpha := p.Rule.Alpha(s)
		if !alpha {
			continue
		}
		out.AlphaBytes += s.Bytes
		if known[key] {
			out.CaughtBytes += s.Bytes
		}
	}
	r := detect.Run(p.Rule, p.Pairs, detect.Input{Sums: d.Sums, LastSeen: seen, Frozen: d.Frozen}, d.To)
	p.Pairs, out.Added, out.AgedOut = r.Pairs, len(r.Added), len(r.AgedOut)
	return out
}

package detect

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"
)

// SamplingError is one standard deviation of Bytes caused by random packet
// sampling, as a share of Bytes: sqrt((1-1/rate)/samples), for packets of equal
// size, as bulk transfers send them. 667 samples give 3.9 %. It is 0 for
// unsampled flows and, for want of a number, where the rate is unknown.
func (e Evidence) SamplingError() float64 {
	if e.SamplingRate == 0 {
		return 0
	}
	rate := float64(e.SamplingRate)
	// A flow that was counted was sampled at least once.
	samples := max(1, float64(e.Packets)/rate)
	return math.Sqrt((1 - 1/rate) / samples)
}

// deviations either side of the mean hold 95 % of a normal distribution.
const deviations = 1.96

// Bounds are between which numbers of bytes the flow sent, with a confidence of 95 %: SamplingError either side of
// Bytes. Both are Bytes where it is 0.
func (e Evidence) Bounds() (low, high uint64) {
	spread := deviations * e.SamplingError()
	return scaled(e.Bytes, 1-spread), scaled(e.Bytes, 1+spread)
}

func scaled(n uint64, by float64) uint64 {
	switch x := float64(n) * by; {
	case by == 1:
		return n
	case x >= math.MaxUint64:
		return math.MaxUint64
	default:
		return uint64(max(x, 0))
	}
}

// newest joins evidence, newest first, up to the limit. The same flow in the same interval counts once,
// with the larger sum: records may come late.
func newest(most int, a, b []Evidence) []Evidence {
	all := slices.Concat(a, b)
	slices.SortFunc(all, Evidence.compare)
	all = slices.CompactFunc(all, func(x, y Evidence) bool { return x.place(y) == 0 })
	return slices.Clip(all[:min(most, len(all))])
}

// place orders evidence by what it is about: newest interval first, then flow.
func (e Evidence) place(f Evidence) int {
	return cmp.Or(
		f.Start.Compare(e.Start),
		cmp.Compare(e.Interval, f.Interval),
		e.Flow.compare(f.Flow),
	)
}

// compare is a total order, so that results do not depend on the order of input;
// of two sums of one flow in one interval the larger comes first.
func (e Evidence) compare(f Evidence) int {
	return cmp.Or(
		e.place(f),
		cmp.Compare(f.Bytes, e.Bytes),
		cmp.Compare(f.Packets, e.Packets),
		cmp.Compare(e.MinBytes, f.MinBytes),
		cmp.Compare(e.SamplingRate, f.SamplingRate),
		f.LastRecordEnd.Compare(e.LastRecordEnd),
		cmp.Compare(e.Flow.InIf, f.Flow.InIf),
	)
}

func (e Evidence) equal(f Evidence) bool { return e.compare(f) == 0 }

// compare leaves the interface out: a flow that moves to another is still the same.
func (f Flow) compare(g Flow) int {
	return cmp.Or(f.Src.Compare(g.Src), f.Dst.Compare(g.Dst), cmp.Compare(f.Protocol, g.Protocol))
}

// Compare orders pairs by exporter, source, destination.
func (k Key) Compare(l Key) int {
	return cmp.Or(
		k.Exporter.Compare(l.Exporter),
		comparePrefix(k.Prefixes.Src, l.Prefixes.Src),
		comparePrefix(k.Prefixes.Dst, l.Prefixes.Dst),
	)
}

func comparePrefix(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

// AgesOut is when the pair is forgotten if no flow of it is seen any more.
func (p Pair) AgesOut(rule Rule) time.Time { return p.LastSeen.Add(rule.AgeAfter) }

// Equal compares everything that is remembered of two pairs.
func (p Pair) Equal(q Pair) bool {
	return p.Key == q.Key && p.FirstSeen.Equal(q.FirstSeen) && p.LastSeen.Equal(q.LastSeen) &&
		p.LastAlpha.Equal(q.LastAlpha) && slices.EqualFunc(p.Evidence, q.Evidence, Evidence.equal) &&
		p.Tags.Sent == q.Tags.Sent && slices.Equal(p.Tags.Of, q.Tags.Of)
}

package detect

import (
	"math"
	"math/bits"
	"net/netip"
	"time"
)

// Record is a flow record: some of what a flow sent, between two times. Counters are as exported, without sampling.
type Record struct {
	Exporter       netip.Addr
	Flow           Flow
	Start, End     time.Time
	Bytes, Packets uint64
	// SamplingRate is 0 where it is unknown.
	SamplingRate uint64
}

// Pieces calls each with what the record adds to its flow's sum of every interval from since on, in order of time. It
// is the rule by which the flow store sums (services/flowstore/intervals.sql): of b bytes over d ms, b*t/d, rounded
// down, were sent t ms after the start, so that the pieces of a record sum to b. A record without duration is of the
// interval of its start.
func (r Rule) Pieces(rec Record, since time.Time, each func(Sum)) {
	ms := r.Interval.Milliseconds()
	start, end := rec.Start.UnixMilli(), rec.End.UnixMilli()
	all := Sum{
		Exporter: rec.Exporter, Flow: rec.Flow, SamplingRate: rec.SamplingRate, LastRecordEnd: rec.End,
		Bytes: times(rec.Bytes, rec.SamplingRate), Packets: times(rec.Packets, rec.SamplingRate),
	}
	first, last := start/ms, max(end-1, start)/ms
	if first == last {
		if all.Start = slotStart(first, ms); !all.Start.Before(since) {
			each(all)
		}
		return
	}
	for slot := max(first, ceil(since.UnixMilli(), ms)); slot <= last; slot++ {
		piece, from, until := all, max(slot*ms, start)-start, min((slot+1)*ms, end)-start
		piece.Start = slotStart(slot, ms)
		piece.Bytes = share(all.Bytes, until, end-start) - share(all.Bytes, from, end-start)
		piece.Packets = share(all.Packets, until, end-start) - share(all.Packets, from, end-start)
		each(piece)
	}
}

// Add sums two pieces of one flow in one interval.
func (s Sum) Add(t Sum) Sum {
	s.Bytes, s.Packets = plus(s.Bytes, t.Bytes), plus(s.Packets, t.Packets)
	if s.SamplingRate == 0 || t.SamplingRate == 0 {
		s.SamplingRate = 0
	} else {
		s.SamplingRate = max(s.SamplingRate, t.SamplingRate)
	}
	s.LastRecordEnd = latest(s.LastRecordEnd, t.LastRecordEnd)
	return s
}

func slotStart(slot, ms int64) time.Time { return time.UnixMilli(slot * ms).UTC() }

func ceil(n, by int64) int64 { return (n + by - 1) / by }

// times applies sampling; an unknown rate counts as 1. What 64 bits do not hold is the largest they do.
func times(n, rate uint64) uint64 {
	high, low := bits.Mul64(n, max(rate, 1))
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

func plus(a, b uint64) uint64 {
	if sum, carry := bits.Add64(a, b, 0); carry == 0 {
		return sum
	}
	return math.MaxUint64
}

// share is ⌊n·t/of⌋ for t ≤ of, in 128 bits on the way.
func share(n uint64, t, of int64) uint64 {
	high, low := bits.Mul64(n, uint64(t))
	out, _ := bits.Div64(high, low, uint64(of))
	return out
}

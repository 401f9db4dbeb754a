package decode

import "math"

// samplingFields are the elements that tell a sampling rate, in options or in
// the record itself.
type samplingFields struct {
	selector         uint64
	interval         uint64 // elements 34 and 50: one in N
	packets, space   uint64 // RFC 5476: packets taken, then packets skipped
	size, population uint64 // n out of N
	oneIn            uint64 // from element 311, a probability
}

// oneInOf is the rate of a probability (RFC 5477 section 8.2.11), a floating-point number of four or eight bytes.
func oneInOf(b []byte) uint64 {
	var p float64
	switch len(b) {
	case 4:
		p = float64(math.Float32frombits(be.Uint32(b)))
	case 8:
		p = math.Float64frombits(be.Uint64(b))
	}
	if !(p > 0 && p <= 1) || 1/p > maxRate {
		return 0
	}
	return uint64(math.Round(1 / p))
}

// maxRate keeps nonsense out: no exporter samples one packet in four billion.
const maxRate = 1 << 32

// rate is N of one in N, or 0 where nothing is said.
func (s *samplingFields) rate() uint64 {
	var n uint64
	switch {
	case s.interval > 0:
		n = s.interval
	case s.packets > 0 && s.space < maxRate:
		n = (s.packets + s.space) / s.packets
	case s.size > 0:
		n = s.population / s.size
	default:
		n = s.oneIn
	}
	if n > maxRate {
		return 0
	}
	return n
}

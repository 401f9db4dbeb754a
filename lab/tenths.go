package lab

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scenario"
)

// tenth is how long a part is in which arrivals are counted. A link of 28 Mbit/s carries 243 packets in it.
const tenth = 100 * time.Millisecond

// count notes a packet in the tenth of a second of the phase in which the kernel got it.
func (r *receivedStream) count(arrived time.Time) {
	n := int(arrived.Sub(r.origin) / tenth)
	if n < 0 {
		return
	}
	for len(r.Tenths) <= n {
		r.Tenths = append(r.Tenths, 0)
	}
	r.Tenths[n]++
}

// middleRate is the median, over the tenths of a second of a part of the phase, of the rate at which the frames of
// all streams arrived, in Mbit/s. It is the rate of a port that always has something to send, even if the machine
// kept the port or a sender from its processor in some of the tenths.
func (p *PhaseResult) middleRate(s span) (float64, bool) {
	rates := p.rates()
	from, to := min(int(s.from*10), len(rates)), min(int(s.to*10), len(rates))
	rates = slices.Sorted(slices.Values(rates[from:to]))
	if len(rates) == 0 {
		return 0, false
	}
	return (rates[(len(rates)-1)/2] + rates[len(rates)/2]) / 2, true
}

// rates are those of all streams together by tenth of the phase, Mbit/s of frames.
func (p *PhaseResult) rates() []float64 {
	var sums []float64
	for _, a := range p.Applications {
		if a.UDP == nil {
			continue
		}
		for i, octets := range a.UDP.Tenths {
			if i == len(sums) {
				sums = append(sums, 0)
			}
			sums[i] += rate(octets, tenth.Seconds())
		}
	}
	return sums
}

// frameTenths are octets of frames, as schedulers count, of what a sink counted in packets.
func frameTenths(a scenario.Application, packets []int) []uint64 {
	octets := make([]uint64, len(packets))
	for i, n := range packets {
		octets[i] = uint64(n) * uint64(int(a.Packet)+scenario.FrameOverhead)
	}
	return octets
}

package kernel

import "math"

// DropProfile is the probability of a drop by the queue's occupancy: none
// below Min, rising in a line to Probability at Max, certain above; all percent.
type DropProfile struct {
	Min, Max, Probability uint8
	// ECN marks packets that can be marked instead.
	ECN bool
}

// maxProfileBuffer keeps the kernel's own arithmetic within 32 bits.
const maxProfileBuffer = 1 << 30

// thresholds are the fills in bytes.
func (c DropProfile) thresholds(buffer uint32) (low, high uint32) {
	b := uint64(min(buffer, maxProfileBuffer))
	low, high = uint32(b*uint64(c.Min)/100), uint32(b*uint64(c.Max)/100)
	return low, max(high, low, 1)
}

// maxP is the probability at the upper threshold in units of 2^-32.
//
// The kernel spaces drops evenly: with probability p it drops after a number
// of packets drawn from 1..1/p, which is (1+1/p)/2 in the mean, so it drops
// 2p/(1+p) of them. p is chosen so that the profile is met exactly at three
// quarters of the way from Min to Max; the error is largest for a profile up to
// 100 %, +8.7 points at 30-40 % of the way and -11 just below Max, and below one point
// for profiles up to 30 %. docs/reference/routeragent.md shows it measured.
func (c DropProfile) maxP() uint32 {
	want := float64(c.Probability) / 100
	return uint32(math.Min(want/(2-0.75*want)*(1<<32), math.MaxUint32))
}

// stab makes an idle queue empty at once: the kernel remembers an average over
// idle times, which we do not want for the same reason as in redOptions.
func stab() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = 31
	}
	return b
}

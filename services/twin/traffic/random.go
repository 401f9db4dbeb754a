package traffic

import "math"

// Random is xoshiro256++ (Blackman, Vigna 2019) seeded by splitmix64: fast, and
// the same on every machine and in every version of Go, so that a seed names a run.
type Random struct{ s [4]uint64 }

// NewRandom gives a stream of its own to every seed, 0 included.
func NewRandom(seed uint64) *Random {
	r := &Random{}
	for i := range r.s {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		r.s[i] = z ^ z>>31
	}
	return r
}

// Uint64 is uniform over all values.
func (r *Random) Uint64() uint64 {
	s := &r.s
	sum := s[0] + s[3]
	out := (sum<<23 | sum>>41) + s[0]
	t := s[1] << 17
	s[2] ^= s[0]
	s[3] ^= s[1]
	s[1] ^= s[2]
	s[0] ^= s[3]
	s[2] ^= t
	s[3] = s[3]<<45 | s[3]>>19
	return out
}

// Float is uniform in [0, 1).
func (r *Random) Float() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// Below is uniform over 0 to n-1, for n far below 2^32.
func (r *Random) Below(n int) int { return int((r.Uint64() >> 32) * uint64(n) >> 32) }

// Exponential has the given mean.
func (r *Random) Exponential(mean float64) float64 { return -mean * math.Log(1-r.Float()) }

// Pareto has the given mean and shape above 1: the smallest value is mean*(shape-1)/shape.
func (r *Random) Pareto(mean, shape float64) float64 {
	return mean * (shape - 1) / shape / math.Pow(1-r.Float(), 1/shape)
}

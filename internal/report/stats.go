package report

import (
	"math"
	"slices"
)

// Summarise computes a Delay from round-trip times in milliseconds and the number sent.
func Summarise(rtts []float64, sent int) Delay {
	d := Delay{Sent: sent, Lost: sent - len(rtts)}
	if len(rtts) == 0 {
		return d
	}
	var sum float64
	for _, v := range rtts {
		sum += v
	}
	d.Mean = sum / float64(len(rtts))
	var squares float64
	for _, v := range rtts {
		squares += (v - d.Mean) * (v - d.Mean)
	}
	if len(rtts) > 1 {
		d.SD = math.Sqrt(squares / float64(len(rtts)-1))
	}
	d.P99 = quantile(rtts, 0.99)
	return d
}

// quantile is the nearest-rank quantile.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

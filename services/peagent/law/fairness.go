package law

// Fairness is the weighted fairness index F of paper 001, equation 1: 1 when
// throughputs stand in the ratio of the weights, 1/N when one flow has all.
func Fairness(throughput, weight []float64) float64 {
	var sum, squares float64
	for i, x := range throughput {
		share := x / weight[i]
		sum += share
		squares += share * share
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(throughput)) * squares)
}

// Jain is the fairness index without weights.
func Jain(throughput []float64) float64 {
	ones := make([]float64, len(throughput))
	for i := range ones {
		ones[i] = 1
	}
	return Fairness(throughput, ones)
}

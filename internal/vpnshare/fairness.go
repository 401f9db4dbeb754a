package vpnshare

// Fairness is the weighted fairness index F of paper 001, equation 1: 1 when throughputs are proportional to the
// weights, 1/N when one of N flows has all.
func Fairness(throughput, weight []float64) float64 {
	var sum, squares float64
	for i, x := range throughput {
		normalised := x / weight[i]
		sum += normalised
		squares += normalised * normalised
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(throughput)) * squares)
}

// Jain is Jain's fairness index: F with equal weights.
func Jain(throughput []float64) float64 {
	ones := make([]float64, len(throughput))
	for i := range ones {
		ones[i] = 1
	}
	return Fairness(throughput, ones)
}

// Flow has the properties of a VPN flow that fairness depends on.
type Flow struct {
	Weight, Throughput float64
	// Links are the links that the flow crosses, by any numbering; none if they are not known.
	Links []int
}

// Shares returns the fair share of each flow: the throughput of all active flows that share links with it, directly or
// through others, divided in proportion to the weights. A flow that sends nothing gets 0. If the links of any active
// flow are not known, all flows are taken to share links.
func Shares(flows []Flow) []float64 {
	group := groups(flows)
	weight, total := map[int]float64{}, map[int]float64{}
	for i, f := range flows {
		if f.Throughput > 0 {
			weight[group[i]] += f.Weight
			total[group[i]] += f.Throughput
		}
	}
	out := make([]float64, len(flows))
	for i, f := range flows {
		if f.Throughput > 0 {
			out[i] = total[group[i]] * f.Weight / weight[group[i]]
		}
	}
	return out
}

// groups returns the group of each flow: active flows that share links have the same number.
func groups(flows []Flow) []int {
	group := make([]int, len(flows))
	for _, f := range flows {
		if f.Throughput > 0 && len(f.Links) == 0 {
			return group
		}
	}
	parent := make([]int, len(flows))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	first := map[int]int{}
	for i, f := range flows {
		if f.Throughput == 0 {
			continue
		}
		for _, l := range f.Links {
			if other, ok := first[l]; ok {
				parent[find(i)] = find(other)
			} else {
				first[l] = i
			}
		}
	}
	for i := range flows {
		group[i] = find(i)
	}
	return group
}

// Measure returns F and Jain's index over active flows. F has the fair shares as weights: over one group of flows that
// is the paper's F, and over several each flow is compared with its own group.
func Measure(flows []Flow, shares []float64) (f, jain float64, active int) {
	var x, weight []float64
	for i, flow := range flows {
		if shares[i] > 0 {
			x, weight = append(x, flow.Throughput), append(weight, shares[i])
		}
	}
	return Fairness(x, weight), Jain(x), len(x)
}

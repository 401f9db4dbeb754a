package vpnshare

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

// Flow is a VPN flow as far as fairness is concerned.
type Flow struct {
	Weight, Throughput float64
	// Links it crosses, by any numbering; none where that is not known.
	Links []int
}

// Shares is what each active flow would have if the throughput of the flows it
// shares links with, directly or through others, stood in the ratio of their
// weights. Flows that send nothing want nothing and get 0. Where the links of
// any active flow are not known, all are taken to share.
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

// groups numbers the sets of active flows that share links.
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

// Measure is F and Jain's index over active flows, with the flows' shares as
// weights: over one group of flows that is the paper's F, and over several each
// is measured against what it shares.
func Measure(flows []Flow, shares []float64) (f, jain float64, active int) {
	var x, weight []float64
	for i, flow := range flows {
		if shares[i] > 0 {
			x, weight = append(x, flow.Throughput), append(weight, shares[i])
		}
	}
	return Fairness(x, weight), Jain(x), len(x)
}

package law

// Loss is the rate of loss events per packet, from the average interval between
// them. The present interval counts as well once it is longer (RFC 5348,
// section 5.4). Until a flow has seen many events of its own, its average leans
// on the domain's (common, 0 if unknown): flows that start together would
// otherwise take the luck of their first losses for a difference between paths.
func (f *Flow) Loss(p *Parameters, common float64) float64 {
	own := max(f.gap, f.gap+(f.since-f.gap)/p.Memory)
	if f.Events < 2 {
		own = f.since // the interval before the first event was the start's
	}
	if common <= 0 {
		common = max(own, 1)
	}
	lean := p.Memory / (p.Memory + max(float64(f.Events)-1, 0))
	return 1 / max(lean*common+(1-lean)*own, 1)
}

// Price is p·R²·r²: with one b for all, throughput would be proportional to
// r/√price, so b has to make up for it.
func (f *Flow) Price(p *Parameters, common float64) float64 {
	x := f.RTT * f.Weight
	return f.Loss(p, common) * x * x
}

// Reference collects prices of a domain. Its mean is harmonic: flows of a low
// price, whose decrease is the largest, set the scale, as VPN 1 does in paper
// 001; and sums of several PEs can be added.
type Reference struct {
	Flows   float64 // how many have a price
	Inverse float64 // sum of 1/price
	Seen    float64 // how many flows have seen two loss events
	Gap     float64 // the sum of their average intervals
	Used    float64 // throughput of the flows that want more, full packets per second
	Weight  float64 // and their weights
}

// Add takes in a flow whose window holds; common is the domain's mean interval so far.
func (r *Reference) Add(p *Parameters, f *Flow, common float64) {
	if f.Phase != Avoiding {
		return
	}
	if price := f.Price(p, common); price > 0 {
		r.Flows++
		r.Inverse += 1 / price
	}
	if f.limited {
		r.Used += f.used
		r.Weight += f.Weight
	}
	if f.Events >= 2 {
		r.Seen++
		r.Gap += f.gap
	}
}

// Join adds another PE's sums.
func (r *Reference) Join(o Reference) {
	r.Flows += o.Flows
	r.Inverse += o.Inverse
	r.Seen += o.Seen
	r.Gap += o.Gap
	r.Used += o.Used
	r.Weight += o.Weight
}

// Common is the mean number of packets between loss events, 0 if nobody has seen two.
func (r Reference) Common() float64 {
	if r.Seen == 0 {
		return 0
	}
	return r.Gap / r.Seen
}

// Level is the domain's throughput per unit of weight, 0 if no flow wants more than it has.
func (r Reference) Level() float64 {
	if r.Weight <= 0 {
		return 0
	}
	return r.Used / r.Weight
}

// Price is the reference price, 0 if no flow has one.
func (r Reference) Price() float64 {
	if r.Inverse <= 0 {
		return 0
	}
	return r.Flows / r.Inverse
}

// Decrease chooses b so that a flow of this price has the throughput per weight
// of a flow that has the reference price and the decrease B:
//
//	2/b − 1 = (2/B − 1) · price/reference
func Decrease(p *Parameters, price, reference float64) float64 {
	if price <= 0 || reference <= 0 {
		return p.B
	}
	b := 2 / (1 + (2/p.B-1)*price/reference)
	return min(max(b, p.MinB), p.MaxB)
}

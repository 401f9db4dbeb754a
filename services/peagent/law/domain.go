package law

// Domain is what the flows of all PEs have in common. A field is 0 where it is not known.
type Domain struct {
	// Price is the reference price: the harmonic mean of the prices of the flows that want more. Others, such as those
	// of acknowledgements, have next to no loss events and would make every price look dear.
	Price float64
	// LossInterval is the mean number of packets between loss events of the same flows.
	LossInterval float64
	// Throughput is the normalised throughput of the same flows: full packets per second and unit of weight.
	Throughput float64
}

// Sums are the sums, over flows that want more, that a Domain is made of. Those of several PEs can be added.
type Sums struct {
	Priced        float64 // flows that have a price
	InversePrices float64 // sum of 1/price
	WithLoss      float64 // flows with a mean loss interval of their own
	LossIntervals float64 // sum of these intervals, packets
	SendRate      float64 // full packets per second
	Weight        float64
}

// Add adds a flow if it wants more; domainInterval is the domain's mean loss interval so far.
func (s *Sums) Add(p *Parameters, f *Flow, domainInterval float64) {
	if !f.wantsMore() {
		return
	}
	if price := f.Price(p, domainInterval); price > 0 && f.congested() {
		s.Priced++
		s.InversePrices += 1 / price
	}
	s.SendRate += f.sendRate
	s.Weight += f.Weight
	if f.LossEvents >= firstLossEvents {
		s.WithLoss++
		s.LossIntervals += f.meanLossInterval
	}
}

// Merge adds another PE's sums.
func (s *Sums) Merge(o Sums) {
	s.Priced += o.Priced
	s.InversePrices += o.InversePrices
	s.WithLoss += o.WithLoss
	s.LossIntervals += o.LossIntervals
	s.SendRate += o.SendRate
	s.Weight += o.Weight
}

// Domain computes means from the sums. The mean price is harmonic: flows of a low price, whose b is the largest, set
// the scale, as VPN 1 does in paper 001.
func (s Sums) Domain() Domain {
	return Domain{
		Price:        ratio(s.Priced, s.InversePrices),
		LossInterval: ratio(s.LossIntervals, s.WithLoss),
		Throughput:   ratio(s.SendRate, s.Weight),
	}
}

// ratio is 0 where there is nothing to divide by.
func ratio(sum, by float64) float64 {
	if by <= 0 {
		return 0
	}
	return sum / by
}

package law

// correctionExponent is the power with which the fairness correction enters b: with 4 a third of an error is left on
// the logarithmic scale; a higher power cuts windows in half for noise (docs/explanation/i2vfc.md, equation 4).
const correctionExponent = 4

// NormalisedThroughput is the sending rate per unit of weight, in full packets per second: what fairness makes equal.
func (f *Flow) NormalisedThroughput() float64 { return f.sendRate / f.Weight }

// wantsMore: the flow is under control and would send more if it could.
func (f *Flow) wantsMore() bool { return f.Phase == CongestionAvoidance && f.windowLimited }

// AdaptB sets b from the flow's price and normalised throughput beside those of its domain. Before a flow has loss
// events of its own, its price is not known: its round-trip time is that of queues which are not full yet.
func (f *Flow) AdaptB(p *Parameters, d Domain) {
	f.correction = 1
	if d.Throughput > 0 && f.sendRate > 0 && f.wantsMore() {
		f.correction = min(max(d.Throughput/f.NormalisedThroughput(), 1/p.MaxCorrection), p.MaxCorrection)
	}
	price, reference := f.Price(p, d.LossInterval), d.Price
	if reference == 0 || f.LossEvents < firstLossEvents {
		price, reference = 1, 1
	}
	for range correctionExponent {
		price *= f.correction
	}
	f.B = Decrease(p, price, reference)
}

// Price is p·R²·r² with loss event rate p, round-trip time R and weight r. With one b for all flows, throughput would
// be proportional to r/√price; b makes up for it.
func (f *Flow) Price(p *Parameters, domainInterval float64) float64 {
	x := f.SRTT * f.Weight
	return f.Loss(p, domainInterval) * x * x
}

// Decrease chooses b so that a flow of this price has the throughput per weight of a flow with the reference price and
// the decrease factor B:
//
//	2/b − 1 = (2/B − 1) · price/reference
func Decrease(p *Parameters, price, reference float64) float64 {
	if price <= 0 || reference <= 0 {
		return p.B
	}
	b := 2 / (1 + (2/p.B-1)*price/reference)
	return min(max(b, p.MinB), p.MaxB)
}

package law

// firstLossEvents is the number of loss events after which the mean loss interval is the flow's own: the interval
// before the first event belongs to slow start and does not describe the path.
const firstLossEvents = 2

// staleIntervals is how many mean loss intervals may pass without a loss event before past losses say nothing of the
// path any more: RFC 5348, section 5.5, discounts them from there on.
const staleIntervals = 2

// congested: the flow has had loss events, and the last one is not long ago. On a free path it has no price, because
// equation (1) describes a window between loss events.
func (f *Flow) congested() bool {
	return f.LossEvents >= firstLossEvents && f.openLossInterval <= staleIntervals*f.meanLossInterval
}

// countPackets returns how many packets were sent since the last feedback and how many more are lost. A counter that
// runs backwards is that of a restarted peer: counting begins anew, and nothing is taken for loss.
func (f *Flow) countPackets(fb Feedback) (sent, lost float64) {
	difference := fb.Sent - fb.Received
	if fb.Sent < f.sent || fb.Received < f.received {
		f.sent, f.received, f.cumulativeLoss = fb.Sent, fb.Received, difference
		return 0, 0
	}
	sent = float64(fb.Sent - f.sent)
	f.sent, f.received = fb.Sent, fb.Received
	more := max(int64(difference-f.cumulativeLoss), 0) // below 0, packets arrived late that had counted as lost
	f.cumulativeLoss += uint64(more)
	return sent, float64(more)
}

// endLossInterval counts a loss event and averages the interval that it ends into the mean loss interval.
func (f *Flow) endLossInterval(p *Parameters) {
	switch f.LossEvents {
	case 0:
	case 1:
		f.meanLossInterval = max(f.openLossInterval, 1)
	default:
		f.meanLossInterval += (f.openLossInterval - f.meanLossInterval) / min(p.LossIntervals, float64(f.LossEvents))
	}
	f.openLossInterval = 0
	f.LossEvents++
}

// Loss is the loss event rate per packet, 1/I_mean. The open interval counts as well once it is longer than the mean
// (RFC 5348, section 5.4). Until a flow has seen many loss events, its mean is weighted with the domain's (0 if not
// known): otherwise flows that start together would take the chance of their first losses for a difference between
// paths.
func (f *Flow) Loss(p *Parameters, domainInterval float64) float64 {
	own := max(f.meanLossInterval, f.meanLossInterval+(f.openLossInterval-f.meanLossInterval)/p.LossIntervals)
	if f.LossEvents < firstLossEvents {
		own = f.openLossInterval
	}
	if domainInterval <= 0 {
		domainInterval = max(own, 1)
	}
	weight := p.LossIntervals / (p.LossIntervals + max(float64(f.LossEvents)-1, 0))
	return 1 / max(weight*domainInterval+(1-weight)*own, 1)
}

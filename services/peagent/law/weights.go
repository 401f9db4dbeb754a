package law

// SetWeights changes the weights of a domain's flows. Windows follow at once, because they will be proportional to the
// weights in the end; the sum of the rates stays, because the network has not changed. A queue overflows as often as it
// did, so the packets between two loss events change with the rate: with the old loss event rate, a flow that lost
// weight would seem to have few losses, and its next loss event would cut the window in half.
func SetWeights(p *Parameters, flows []*Flow, weight []float64) {
	var before, after float64
	for i, f := range flows {
		before += f.Rate()
		after += f.Rate() * weight[i] / f.Weight
	}
	for i, f := range flows {
		if after > 0 && f.Phase != NoFeedback {
			f.scale(p, weight[i]/f.Weight*before/after)
		}
		f.Weight = weight[i]
	}
}

// scale multiplies all that is proportional to the flow's rate.
func (f *Flow) scale(p *Parameters, change float64) {
	f.Window *= change
	f.windowBeforeTimeout *= change
	f.sendRate *= change
	f.meanLossInterval *= change
	f.openLossInterval *= change
	f.clampWindow(p)
}

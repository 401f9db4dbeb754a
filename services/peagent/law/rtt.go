package law

// updateRTT smooths the round-trip time over Parameters.SmoothingRTTs of it, however often feedback comes, and over
// more where it is shorter than the interval of the control loop.
//
// Where the round-trip time is mostly queue, the rate reacts to the latest sample with a gain g = sampleGain/(R+t) and
// to the mean over T with 1/R, which gives s² + (g + 1/T)s + (g + 1/R)/T = 0. With T well below 1/(g²R) this rings: the
// rate swings between nothing and a multiple of the link's, and the link is never full
// (docs/explanation/i2vfc.md, "A rate is not a window").
func (f *Flow) updateRTT(p *Parameters, fb Feedback, elapsed float64) {
	before := f.SRTT
	delayed := f.SRTT + fb.Interval
	f.SRTT += (fb.RTT - f.SRTT) * elapsed / (elapsed + p.SmoothingRTTs*delayed*delayed/f.SRTT)
	f.lastRTT, f.minRTT = fb.RTT, min(f.minRTT, fb.RTT)
	if f.rateHeld {
		f.Window *= f.SRTT / before
		f.clampWindow(p)
	}
}

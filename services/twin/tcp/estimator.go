package tcp

// estimator is RFC 6298 with timestamps: every acknowledgement is a sample.
type estimator struct {
	srtt, rttvar float64
	rto, minimum Time
}

const maximumRTO = 60 * second

func (e *estimator) sample(rtt Time) {
	r := float64(rtt)
	if e.srtt == 0 {
		e.srtt, e.rttvar = r, r/2
	} else {
		d := e.srtt - r
		if d < 0 {
			d = -d
		}
		e.rttvar += (d - e.rttvar) / 4
		e.srtt += (r - e.srtt) / 8
	}
	e.rto = min(max(Time(e.srtt+4*e.rttvar), e.minimum), maximumRTO)
}

func (e *estimator) backOff() { e.rto = min(2*e.rto, maximumRTO) }

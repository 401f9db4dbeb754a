package law

const (
	vpnQueue = 128 // packets, table V of paper 001
	// As in the agent: seconds between two rounds of a control loop and between two messages to the other PEs.
	tick, updates  = 0.005, 0.2
	managementSize = 114. / 1514
)

// modelPE is the agent of one PE. Its rounds and its messages to the other PEs have a phase of their own.
type modelPE struct {
	flows        []*source
	sums, local  Sums // of this round so far, and of the last one
	heard        []Sums
	domain       Domain
	endSlowStart bool
}

// answer is what the latest management packet brought back.
type answer struct {
	sequence       int
	at, rtt        float64
	sent, received uint64
}

func (m *model) beginPEs() {
	for _, f := range m.flows {
		for len(m.pes) <= f.pe {
			m.pes = append(m.pes, &modelPE{})
		}
		m.pes[f.pe].flows = append(m.pes[f.pe].flows, f)
	}
	for i, p := range m.pes {
		p.heard = make([]Sums, len(m.pes))
		m.at(tick*m.random.Float64(), func() { m.round(p) })
		m.at(updates*m.random.Float64(), func() { m.tellOthers(i) })
	}
}

func (m *model) tellOthers(from int) {
	for i, p := range m.pes {
		if i != from {
			p.heard[from] = m.pes[from].local
		}
	}
	m.at(m.now+updates, func() { m.tellOthers(from) })
}

// round is one of an agent's control loop.
func (m *model) round(p *modelPE) {
	p.local, p.sums = p.sums, Sums{}
	total := p.local
	for _, s := range p.heard {
		total.Merge(s)
	}
	p.domain = total.Domain()
	if p.endSlowStart {
		for _, f := range p.flows {
			f.EndSlowStart()
		}
		p.endSlowStart = false
	}
	for _, f := range p.flows {
		m.takeFeedback(p, f)
		f.CheckTimeout(&m.p, m.now, f.oldest)
		f.GrowSlowStart(&m.p, Round{m.now, tick, f.oldest, f.limitedNow()}, p.domain.Throughput)
		f.AdaptB(&m.p, p.domain)
		if f.requested+1 > m.now {
			p.sums.Add(&m.p, &f.Flow, p.domain.LossInterval)
		}
		m.setRate(f)
		if m.requestDue(f) {
			m.sendRequest(f)
		}
	}
	m.at(m.now+tick, func() { m.round(p) })
}

// setRate keeps the order and the distances of what waits behind HTB, requests among it.
func (m *model) setRate(f *source) {
	before := f.limit
	if f.limit = f.Rate(); f.limit == 0 {
		f.limit = f.uncontrolled()
	}
	if m.edt || before == 0 {
		return
	}
	for _, t := range []*float64{&f.requested, &f.oldest} {
		if *t > m.now {
			*t = m.now + (*t-m.now)*before/f.limit
		}
	}
}

// uncontrolled is what a VPN sends before there is feedback: what it happens to have.
func (f *source) uncontrolled() float64 {
	if f.tcp > 0 {
		return 1e6
	}
	return 200 * f.Weight
}

// rate is what the PE lets through.
func (m *model) rate(f *source) float64 {
	if f.limit == 0 {
		return f.uncontrolled()
	}
	return f.limit
}

// waiting is how long the next packet would wait at the PE.
func (m *model) waiting(f *source) float64 {
	if m.edt {
		return max(f.next-m.now, 0)
	}
	return float64(len(f.queue)) / m.rate(f)
}

// offer puts a packet into the flow's queue at the PE, if it is not full.
func (m *model) offer(f *source, p packet) {
	full := len(f.queue) >= vpnQueue
	if m.edt {
		full = f.next-m.now > max(f.QueueLimit(m.rate(f), vpnQueue), 0.005)
	}
	if full {
		m.at(m.now+m.waiting(f)+f.SRTT+0.001, p.lost)
		return
	}
	f.offered++
	if f.serving || f.next > m.now {
		f.waited++
	}
	arrived, lost := p.arrived, p.lost
	p.arrived = func() {
		m.arrive(f)
		m.at(m.now+f.back, arrived)
	}
	p.lost = func() { m.at(m.now+f.back+f.SRTT/2, lost) }
	m.enqueue(f, p)
}

// enqueue sends a packet when its turn comes, with the jitter of real schedulers: without it, drop-tail queues lock
// onto phases.
func (m *model) enqueue(f *source, p packet) {
	if m.edt {
		at := max(m.now, f.next)
		f.next = at + (0.5+m.random.Float64())*p.size/m.rate(f)
		m.at(at, func() { m.hop(f.route, p) })
		return
	}
	f.queue = append(f.queue, p)
	if !f.serving {
		m.serve(f)
	}
}

// serve lets the packets of a queue go at W/R.
func (m *model) serve(f *source) {
	f.serving = len(f.queue) > 0
	if !f.serving {
		return
	}
	p := f.queue[0]
	f.queue = f.queue[1:]
	m.hop(f.route, p)
	m.at(m.now+(0.5+m.random.Float64())*p.size/m.rate(f), func() { m.serve(f) })
}

// requestDue is the agent's.
func (m *model) requestDue(f *source) bool {
	const delta, perRoundTrip = 4, 8
	since, packets := m.now+m.waiting(f)-f.requested, f.offered-f.atRequest
	switch {
	case f.Phase == NoFeedback:
		return packets > 0 && (f.requested == 0 || since >= 0.2)
	case packets >= delta:
		return since >= f.SRTT/perRoundTrip
	}
	return f.oldest != 0 && since >= max(f.SRTT, 0.02) || packets > 0 && since >= max(f.SRTT, 0.1)
}

// sendRequest puts a request behind what waits; behind HTB a probe that does not wait measures the round-trip time.
func (m *model) sendRequest(f *source) {
	f.requested, f.atRequest = m.now+m.waiting(f), f.offered
	if f.oldest == 0 {
		f.oldest = f.requested
	}
	f.sequence++
	a, departure := answer{sequence: f.sequence, sent: uint64(f.offered)}, f.requested
	m.enqueue(f, packet{managementSize, func() {
		a.received = f.received
		m.reflect(f, func() {
			if a.at, a.rtt = m.now, m.now-departure; a.sequence > f.answer.sequence {
				f.answer = a
			}
		})
	}, func() {}})
	if !m.edt {
		began := m.now
		m.hop(f.route, packet{managementSize, func() { m.reflect(f, func() { f.probed = m.now - began }) }, func() {}})
	}
}

// reflect is what the far PE does with a management packet.
func (m *model) reflect(f *source, take func()) {
	if !f.burst {
		m.at(m.now+f.back, take)
	}
}

// arrive counts a data packet at the far PE.
func (m *model) arrive(f *source) {
	f.received++
	for len(f.total) <= int(m.now) {
		f.total = append(f.total, 0)
	}
	f.total[int(m.now)]++
}

// takeFeedback hands the latest answer to the law.
func (m *model) takeFeedback(p *modelPE, f *source) {
	if f.answer.sequence <= f.answered || !m.edt && f.probed == 0 {
		return
	}
	f.answered, f.oldest = f.answer.sequence, 0
	if f.answered < f.sequence {
		f.oldest = f.requested
	}
	fb := Feedback{Now: f.answer.at, RTT: f.answer.rtt, Interval: tick, Sent: f.answer.sent, Received: f.answer.received}
	if m.edt {
		fb.QueueDelay = m.waiting(f)
	} else {
		fb.RTT = f.probed
	}
	fb.RTT = max(fb.RTT, 50e-6)
	if f.offered > f.reported[0] {
		f.isLimited = f.limitedNow()
		fb.WindowLimited = f.isLimited
	}
	f.reported = [2]int{f.offered, f.waited}
	slowStart := f.Phase == SlowStart
	if f.Update(&m.p, fb, p.domain.Throughput) && slowStart {
		p.endSlowStart = true
	}
}

// limitedNow: nearly all packets since the last feedback waited; without packets, as of the last feedback.
func (f *source) limitedNow() bool {
	offered, waited := f.offered-f.reported[0], f.waited-f.reported[1]
	if offered == 0 {
		return f.isLimited
	}
	return float64(waited) >= 0.9*float64(offered)
}

// greedy offers twice what the flow may send.
func (m *model) greedy(f *source) {
	m.offer(f, data(func() {}, func() {}))
	m.at(m.now+(0.5+m.random.Float64())/m.rate(f)/2, func() { m.greedy(f) })
}

// little offers what the flow has.
func (m *model) little(f *source) {
	m.offer(f, data(func() {}, func() {}))
	m.at(m.now+1/f.trickle, func() { m.little(f) })
}

package law

import "math/rand/v2"

// model is a network of drop-tail links in virtual time, packet by packet: the
// slow and obvious reference that the law is tested with.
type model struct {
	p      Parameters
	random *rand.Rand
	links  []*link
	flows  []*source
	noise  []poisson
	events events
	now    float64
	pes    []*modelPE
	edt    bool // queued packets keep their departure times when the rate changes
}

type link struct {
	rate   float64 // packets per second
	buffer float64 // packets
	delay  float64
	free   float64 // when the last queued packet is through
}

type source struct {
	Flow
	route    []int
	back     float64 // delay of the answer
	begin    float64
	pe       int     // flows of one PE end slow start together
	tcp      int     // Reno connections that offer the traffic; 0 is a sender that always has more
	trickle  float64 // packets per second of a sender that has no more than these
	received uint64
	total    []uint64 // received in each second
	burst    bool     // answers get lost for a while

	// At the PE.
	limit           float64  // rate, packets per second
	queue           []packet // behind HTB
	serving         bool
	next            float64 // departure of the next packet, mode edt
	offered, waited int
	reported        [2]int
	isLimited       bool    // as of the last feedback
	sequence        int     // of the latest request
	requested       float64 // when it departs
	oldest          float64 // when the oldest request without an answer departs, 0: none
	atRequest       int
	answer          answer
	answered        int
	probed          float64 // round-trip time behind HTB
}

// packet has callbacks to its sender; the size of a full one is 1.
type packet struct {
	size          float64
	arrived, lost func()
}

func data(arrived, lost func()) packet { return packet{1, arrived, lost} }

// poisson is background traffic on one link, to the end where until is 0.
type poisson struct {
	link        int
	rate, until float64
}

func (m *model) at(t float64, do func()) { m.events.push(t, do) }

// run goes on until a virtual time.
func (m *model) run(until float64) {
	for m.events.next() <= until {
		var do func()
		m.now, do = m.events.pop()
		do()
	}
	m.now = until
}

func (m *model) begin() {
	m.beginPEs()
	for _, f := range m.flows {
		m.at(f.begin, func() {
			switch {
			case f.trickle > 0:
				m.little(f)
			case f.tcp > 0:
				m.tcp(f)
			default:
				m.greedy(f)
			}
		})
	}
	for _, n := range m.noise {
		m.at(0, func() { m.disturb(n) })
	}
}

func (m *model) disturb(n poisson) {
	m.hop([]int{n.link}, data(func() {}, func() {}))
	if n.until == 0 || m.now < n.until {
		m.at(m.now+m.random.ExpFloat64()/n.rate, func() { m.disturb(n) })
	}
}

// hop sends a packet over the rest of its route.
func (m *model) hop(route []int, p packet) {
	if len(route) == 0 {
		p.arrived()
		return
	}
	l := m.links[route[0]]
	l.free = max(l.free, m.now)
	if (l.free-m.now)*l.rate >= l.buffer {
		p.lost()
		return
	}
	l.free += p.size / l.rate
	m.at(l.free+l.delay, func() { m.hop(route[1:], p) })
}

// throughput is the mean over whole seconds, packets per second.
func (m *model) throughput(from, to int) []float64 {
	out := make([]float64, len(m.flows))
	for i, f := range m.flows {
		for s := from; s < to && s < len(f.total); s++ {
			out[i] += float64(f.total[s])
		}
		out[i] /= float64(to - from)
	}
	return out
}

func (m *model) weights() []float64 {
	out := make([]float64, len(m.flows))
	for i, f := range m.flows {
		out[i] = f.Weight
	}
	return out
}

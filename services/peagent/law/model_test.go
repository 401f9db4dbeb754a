package law

import (
	"container/heap"
	"math/rand/v2"
)

// model is a network of drop-tail links in virtual time, packet by packet: the
// slow and obvious thing the law is judged by.
type model struct {
	p       Parameters
	random  *rand.Rand
	links   []*link
	flows   []*source
	noise   []poisson
	events  events
	now     float64
	delta   int
	common  float64 // mean packets between loss events
	sharing bool    // flows of one PE tell each other when the start is over, and the level
}

type link struct {
	rate   float64 // packets per second
	buffer float64 // packets
	delay  float64
	free   float64 // when the last queued packet is through
}

type source struct {
	Flow
	route          []int
	back           float64 // delay of the answer
	begin          float64
	sent, received uint64
	total          []uint64 // received in each second
	asked          float64
	since          int
	burst          bool // answers get lost for a while
}

// poisson is background traffic on one link.
type poisson struct {
	link int
	rate float64
}

type event struct {
	at    float64
	do    func()
	order int
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

var order int

func (m *model) at(t float64, do func()) {
	order++
	heap.Push(&m.events, event{t, do, order})
}

// run goes on until a virtual time.
func (m *model) run(until float64) {
	for len(m.events) > 0 && m.events[0].at <= until {
		e := heap.Pop(&m.events).(event)
		m.now = e.at
		e.do()
	}
	m.now = until
}

func (m *model) begin() {
	m.delta = 4
	for _, f := range m.flows {
		m.at(f.begin, func() { m.send(f) })
	}
	for _, n := range m.noise {
		m.at(0, func() { m.disturb(n) })
	}
	m.at(0, m.control)
}

func (m *model) disturb(n poisson) {
	m.hop([]int{n.link}, 1, func() {})
	m.at(m.now+m.random.ExpFloat64()/n.rate, func() { m.disturb(n) })
}

// send lets one packet go and plans the next at W/R, with the jitter of real senders.
func (m *model) send(f *source) {
	f.sent++
	m.hop(f.route, 1, func() { m.arrive(f) })
	f.since++
	if f.since >= m.delta && m.now-f.asked >= max(f.RTT/8, 0.001) {
		f.since, f.asked = 0, m.now
		sent, departed := f.sent, m.now
		m.hop(f.route, 0.08, func() { m.reflect(f, sent, departed) })
	}
	rate := f.Rate()
	if rate == 0 {
		rate = 200 * f.Weight // what an uncontrolled VPN happens to send
	}
	m.at(m.now+(0.5+m.random.Float64())/rate, func() { m.send(f) })
}

func (m *model) arrive(f *source) {
	f.received++
	for len(f.total) <= int(m.now) {
		f.total = append(f.total, 0)
	}
	f.total[int(m.now)]++
}

func (m *model) reflect(f *source, sent uint64, departed float64) {
	received := f.received
	if f.burst {
		return
	}
	m.at(m.now+f.back, func() {
		event := f.Update(&m.p, Report{Now: m.now, RTT: m.now - departed, Sent: sent, Received: received, Limited: true}, m.level(f))
		if event && m.sharing {
			for _, o := range m.flows {
				o.Settle()
			}
		}
	})
}

func (m *model) level(but *source) float64 {
	var sum, n float64
	for _, f := range m.flows {
		if m.sharing && f != but && f.Phase == Avoiding {
			sum, n = sum+f.Level(), n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// hop sends a packet over the rest of its route; done is called where it arrives. A management packet is 114 of 1,514 bytes.
func (m *model) hop(route []int, size float64, done func()) {
	if len(route) == 0 {
		done()
		return
	}
	l := m.links[route[0]]
	l.free = max(l.free, m.now)
	if (l.free-m.now)*l.rate >= l.buffer {
		return
	}
	l.free += size / l.rate
	m.at(l.free+l.delay, func() { m.hop(route[1:], size, done) })
}

// control is the agent's loop: growth, and b from the prices.
func (m *model) control() {
	const every = 0.05
	var ref Reference
	for _, f := range m.flows {
		f.Grow(&m.p, every)
		f.Tick(&m.p, m.now, f.asked)
		ref.Add(&m.p, &f.Flow, m.common)
	}
	for _, f := range m.flows {
		f.B = Decrease(&m.p, f.Price(&m.p, m.common), ref.Price())
	}
	m.common = ref.Common()
	m.at(m.now+every, m.control)
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

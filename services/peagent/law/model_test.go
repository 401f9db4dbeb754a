package law

import (
	"container/heap"
	"math"
	"math/rand/v2"
)

// model is a network of drop-tail links in virtual time, packet by packet: the
// slow and obvious reference that the law is tested with.
type model struct {
	p       Parameters
	random  *rand.Rand
	links   []*link
	flows   []*source
	noise   []poisson
	events  events
	now     float64
	delta   int
	edt     bool // queued packets keep their departure times when the rate changes
	sharing bool // flows know what their domain has in common
	domain  Domain
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
	pe             int     // flows of one PE end slow start together
	tcp            int     // Reno connections that offer the traffic; 0 is a sender that always has more
	trickle        float64 // packets per second of a sender that has no more than these
	sent, received uint64
	total          []uint64 // received in each second
	requested      float64  // when the last request was due
	oldest         float64  // when the oldest request without an answer was due, 0: none
	since          int
	burst          bool // answers get lost for a while

	queue    []packet // at the PE, mode htb
	serving  bool
	next     float64 // departure of the next packet, mode edt
	offered  int
	waited   int
	reported [2]int
}

// packet has callbacks to its sender.
type packet struct{ arrived, lost func() }

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
		m.at(f.begin, func() {
			switch {
			case f.trickle > 0:
				m.little(f)
			case f.tcp == 0:
				m.greedy(f)
			}
			for range f.tcp {
				c := &reno{m: m, flow: f, window: 10, threshold: 1e9}
				c.send()
			}
		})
	}
	for _, n := range m.noise {
		m.at(0, func() { m.disturb(n) })
	}
	m.at(0, m.control)
}

func (m *model) disturb(n poisson) {
	m.hop([]int{n.link}, 1, packet{func() {}, func() {}})
	m.at(m.now+m.random.ExpFloat64()/n.rate, func() { m.disturb(n) })
}

const vpnQueue = 128 // packets, table V

// greedy offers twice what the flow may send.
func (m *model) greedy(f *source) {
	m.offer(f, packet{func() {}, func() {}})
	m.at(m.now+(0.5+m.random.Float64())/m.rate(f)/2, func() { m.greedy(f) })
}

// little offers what the flow has.
func (m *model) little(f *source) {
	m.offer(f, packet{func() {}, func() {}})
	m.at(m.now+1/f.trickle, func() { m.little(f) })
}

// rate is what the PE lets through; an uncontrolled VPN sends what it happens to have.
func (m *model) rate(f *source) float64 {
	if r := f.Rate(); r > 0 {
		return r
	}
	return 200 * f.Weight
}

// limit is the bound of a flow's queue in seconds, as in the agent.
func (m *model) limit(f *source) float64 {
	if m.edt {
		return max(f.QueueLimit(m.rate(f), vpnQueue), 0.005)
	}
	return vpnQueue / m.rate(f)
}

// offer puts a packet into the flow's queue at the PE.
func (m *model) offer(f *source, p packet) {
	if m.edt {
		at := max(m.now, f.next)
		if at-m.now > m.limit(f) {
			m.drop(f, p)
			return
		}
		f.next = at + (0.5+m.random.Float64())/m.rate(f) // without jitter, drop-tail queues lock onto phases
		f.count(at > m.now)
		m.at(at, func() { m.depart(f, p) })
		return
	}
	if len(f.queue) >= vpnQueue {
		m.drop(f, p)
		return
	}
	f.count(f.serving)
	f.queue = append(f.queue, p)
	if !f.serving {
		m.serve(f)
	}
}

func (f *source) count(waited bool) {
	f.offered++
	if waited {
		f.waited++
	}
}

func (m *model) drop(f *source, p packet) { m.at(m.now+f.SRTT+0.001, p.lost) }

// serve lets the packets of a queue go at W/R, with the jitter of real schedulers.
func (m *model) serve(f *source) {
	f.serving = len(f.queue) > 0
	if !f.serving {
		return
	}
	p := f.queue[0]
	f.queue = f.queue[1:]
	m.depart(f, p)
	m.at(m.now+(0.5+m.random.Float64())/m.rate(f), func() { m.serve(f) })
}

// depart sends a packet from the PE, and a management packet behind it if one is due.
func (m *model) depart(f *source, p packet) {
	f.sent++
	lost := p.lost
	p.lost = func() { m.at(m.now+f.back+f.SRTT/2, lost) }
	arrived := p.arrived
	p.arrived = func() {
		m.arrive(f)
		m.at(m.now+f.back, arrived)
	}
	m.hop(f.route, 1, p)
	f.since++
	if f.since >= m.delta && m.now-f.requested >= max(f.SRTT/8, 0.001) {
		f.since, f.requested = 0, m.now
		if f.oldest == 0 {
			f.oldest = m.now
		}
		m.at(m.nextRound(), func() { m.sendRequest(f) })
	}
}

// tick is the time between two rounds of the agent's control loop.
const tick = 0.005

// nextRound is when the next round begins.
func (m *model) nextRound() float64 { return (math.Floor(m.now/tick) + 1) * tick }

func (m *model) sendRequest(f *source) {
	sent, departed := f.sent, m.now
	m.hop(f.route, 0.08, packet{func() { m.reflect(f, sent, departed) }, func() {}})
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
		rtt := m.now - departed
		m.at(m.nextRound(), func() { m.takeFeedback(f, sent, received, rtt, departed) })
	})
}

// takeFeedback hands an answer to the law.
func (m *model) takeFeedback(f *source, sent, received uint64, rtt, departed float64) {
	offered, waited := f.offered-f.reported[0], f.waited-f.reported[1]
	f.oldest = 0
	if departed < f.requested {
		f.oldest = f.requested
	}
	if offered == 0 {
		return
	}
	f.reported = [2]int{f.offered, f.waited}
	fb := Feedback{
		Now: m.now, RTT: rtt, Sent: sent, Received: received, WindowLimited: float64(waited) >= 0.9*float64(offered), Interval: tick,
	}
	if m.edt {
		fb.QueueDelay = max(f.next-m.now, 0)
	}
	throughput := 0.0
	if m.sharing {
		throughput = m.domain.Throughput
	}
	if f.Update(&m.p, fb, throughput) && m.sharing {
		for _, o := range m.flows {
			if o.pe == f.pe {
				o.EndSlowStart()
			}
		}
	}
}

// reno is a TCP connection that always has more to send (RFC 5681). Where too
// few packets are in flight for duplicate acknowledgements, it waits for a time-out.
type reno struct {
	m                 *model
	flow              *source
	window, threshold float64
	flight            int
	recover, silent   float64
}

func (c *reno) send() {
	if c.m.now < c.silent {
		return
	}
	for float64(c.flight) < c.window {
		c.flight++
		began := c.m.now
		c.m.offer(c.flow, packet{c.acknowledged, func() { c.lost(began) }})
	}
}

func (c *reno) acknowledged() {
	c.flight--
	if c.window < c.threshold {
		c.window++
	} else {
		c.window += 1 / c.window
	}
	c.send()
}

func (c *reno) lost(began float64) {
	c.flight--
	if began >= c.recover {
		c.recover = c.m.now
		c.threshold = max(c.window/2, 2)
		if c.window < 4 {
			c.window, c.silent = 1, c.m.now+0.2
			c.m.at(c.silent, c.send)
			return
		}
		c.window = c.threshold
	}
	c.send()
}

// hop sends a packet over the rest of its route. A management packet is 114 of 1,514 bytes.
func (m *model) hop(route []int, size float64, p packet) {
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
	l.free += size / l.rate
	m.at(l.free+l.delay, func() { m.hop(route[1:], size, p) })
}

// control is the agent's loop: slow start, time-outs, and b from what the domain has in common.
func (m *model) control() {
	const every = 0.05
	var sums Sums
	for _, f := range m.flows {
		f.GrowSlowStart(&m.p, m.now, every, m.domain.Throughput)
		f.CheckTimeout(&m.p, m.now, f.oldest)
		sums.Add(&m.p, &f.Flow, m.domain.LossInterval)
	}
	next := sums.Domain()
	now := next
	now.LossInterval = m.domain.LossInterval // the one that the prices were computed with
	for _, f := range m.flows {
		f.AdaptB(&m.p, now)
	}
	m.domain = next
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

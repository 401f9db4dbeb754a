package engine

import (
	"fmt"

	"github.com/millrace/millrace/services/twin/discipline"
)

// PortConfig is one direction of a link with the port that feeds it.
type PortConfig struct {
	Name string
	// Rate in bit/s.
	Rate float64
	// Delay of propagation.
	Delay Time
	// Loss is the probability that a packet is lost on the wire.
	Loss float64
	// Overhead is what the link adds to an IP packet in bytes, in time and in buffers: 38 on Ethernet
	// with preamble and gap.
	Overhead int32
	// LimitBytes and LimitPackets of the one first-in first-out queue, the packet being sent included;
	// zero: no limit. Not used where Queues is set.
	LimitBytes, LimitPackets int64
	// Queues makes it a scheduled port. Its Rate is filled in.
	Queues *discipline.Config
}

type port struct {
	PortConfig
	// Time per byte in 1/1024 ps, so that rates like 155 Mbit/s lose nothing over a day.
	perByte int64
	// busy is when the last packet accepted so far will have been sent (first-in first-out).
	busy Time
	// limit is LimitBytes as time.
	limit    Time
	link     discipline.Ring[flight]
	unsent   int // how many of link are, as far as looked at, still in the queue
	arrivals int32
	sched    *discipline.Scheduler
	sender   int32 // actor of a scheduled port
	sending  bool
	changes  []requeued
	PortCounters
}

// flight is a packet on a link, with all that the next port needs: at 10 Gbit/s there are 100,000 packets, none of them
// in the cache, so a packet that is only forwarded is not read.
type flight struct {
	at   Time
	id   int32
	hop  int32 // that it comes to
	size int32 // IP bytes
}

// PortCounters are the counters of one port. Bytes are on the wire.
type PortCounters struct {
	Packets, Bytes, Drops int64
	// Longest is the most bytes that waited, of a first-in first-out port.
	Longest int64
}

// AddPort adds a port and its link; it returns the number by which routes name it.
func (n *Net) AddPort(c PortConfig) (int, error) {
	switch {
	case c.Rate <= 0:
		return 0, fmt.Errorf("port %s has rate %g bit/s: nothing would ever leave", c.Name, c.Rate)
	case c.Delay < 0 || c.Loss < 0 || c.Loss >= 1:
		return 0, fmt.Errorf("port %s has delay %d ps and loss %g: a delay is not negative and a loss is below 1", c.Name, c.Delay, c.Loss)
	}
	p := port{PortConfig: c, perByte: int64(8 * 1024 * float64(Second) / c.Rate)}
	p.limit = c.LimitBytes * p.perByte >> 10
	if c.Queues != nil {
		q := *c.Queues
		q.Rate = c.Rate
		if err := q.Check(); err != nil {
			return 0, fmt.Errorf("port %s: %w", c.Name, err)
		}
		p.sched = discipline.New(q, n.random)
		p.sender = n.act(actTransmit, len(n.ports))
	}
	p.arrivals = n.act(actLink, len(n.ports))
	n.ports = append(n.ports, p)
	return len(n.ports) - 1, nil
}

// Port returns the counters and the scheduler of a port; the scheduler is nil for first-in first-out.
func (n *Net) Port(i int) (PortCounters, *discipline.Scheduler) {
	return n.ports[i].PortCounters, n.ports[i].sched
}

// Waiting is how many bytes a first-in first-out port has not sent yet.
func (n *Net) Waiting(i int) int64 {
	p := &n.ports[i]
	return max(p.busy-n.now, 0) << 10 / p.perByte
}

func (p *port) carried() int {
	c := p.link.Len()
	if p.sched != nil {
		c += p.sched.Waiting()
	}
	return c
}

// enqueue hands a packet to a port.
func (n *Net) enqueue(p *port, at, i, ip int32) {
	size := int64(ip + p.Overhead)
	if p.sched != nil {
		n.schedule(p, at, i, size)
		return
	}
	start := max(p.busy, n.now)
	took := size * p.perByte >> 10
	wait := start - n.now + took
	if p.limit > 0 && wait > p.limit || p.LimitPackets > 0 && p.queued(n.now) >= p.LimitPackets {
		p.Drops++
		n.end(i, droppedQueue)
		n.dropped(&n.pool[i])
		return
	}
	p.busy = start + took
	p.unsent++
	n.launch(p, at, i, size, p.busy+p.Delay)
}

// queued counts packets that have not been sent, including the one being sent.
func (p *port) queued(now Time) int64 {
	for p.unsent > 0 && p.link.At(p.link.Len()-p.unsent).at-p.Delay <= now {
		p.unsent--
	}
	return int64(p.unsent)
}

// launch puts a packet on the link.
func (n *Net) launch(p *port, at, i int32, size int64, arrives Time) {
	p.Packets++
	p.Bytes += size
	n.Hops++
	if p.link.Len() == 0 {
		n.events.set(p.arrivals, arrives)
	}
	p.link.Push(flight{at: arrives, id: i, hop: at + 1, size: int32(size) - p.Overhead})
}

// deliver takes the head of a link to the next hop.
func (n *Net) deliver(p *port) {
	f := p.link.Pop()
	left := p.link.Len()
	if p.unsent > left {
		p.unsent = left
	}
	next := Never
	if left > 0 {
		head := p.link.First()
		next = head.at
		if n.hops[head.hop].kind == hopEnd {
			n.ahead = n.pool[head.id].flow // fetched while other links have their turn
		}
	}
	n.events.set(p.arrivals, next)
	if p.Loss > 0 && n.random.Float() < p.Loss {
		n.end(f.id, lostOnWire)
		n.dropped(&n.pool[f.id])
		return
	}
	n.walk(f.hop, f.id, f.size)
}

// schedule puts a packet into a queue of a scheduled port.
func (n *Net) schedule(p *port, at, i int32, size int64) {
	pk, h := &n.pool[i], &n.hops[at]
	queue := h.queue
	if h.classes >= 0 {
		queue = n.maps[h.classes][pk.dscp]
	}
	if pk.queue >= 0 {
		queue, pk.queue = uint8(pk.queue), -1
	}
	if len(p.changes) > 0 {
		queue = p.today(at, queue)
	}
	early := p.sched.Counters(int(queue)).EarlyDrops
	if !p.sched.Enqueue(queue, pk.colour, discipline.Item{ID: i, Size: int32(size), Tag: at}) {
		p.Drops++
		reason := droppedQueue
		if p.sched.Counters(int(queue)).EarlyDrops != early {
			reason = droppedEarly
		}
		n.end(i, reason)
		n.dropped(pk)
		return
	}
	if !p.sending {
		n.transmit(p)
	}
}

// transmit sends the packet that the scheduler picks, and runs again when it is sent.
func (n *Net) transmit(p *port) {
	item, ok, retry := p.sched.Dequeue(n.now)
	if !ok {
		p.sending = retry != Never // a ceiling delays packets: try again then
		n.events.set(p.sender, retry)
		return
	}
	p.sending = true
	done := n.now + int64(item.Size)*p.perByte>>10
	n.launch(p, item.Tag, item.ID, int64(item.Size), done+p.Delay)
	n.events.set(p.sender, done)
}

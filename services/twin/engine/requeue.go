package engine

import (
	"fmt"

	"github.com/millrace/millrace/services/twin/discipline"
)

// requeued is one change of a port's queues. Packets on routes from before the change name the old queues.
type requeued struct {
	since int32 // hops from this number on were written after it
	to    [discipline.MaxQueues]uint8
}

// Requeue gives a port other queues while packets pass: nil makes it first-in first-out again. Packets that wait
// keep their order and move to the queue of the same name, or to queue number fallback; those that do not fit are
// dropped. The counters of the queues begin at zero.
func (n *Net) Requeue(i int, c *discipline.Config, fallback int) error {
	p := &n.ports[i]
	change := requeued{since: int32(len(n.hops))}
	for q := range change.to {
		change.to[q] = uint8(fallback)
	}
	free := p.busy
	var waiting [][]discipline.Item
	if p.sched != nil {
		free = n.now
		if p.sending {
			free = n.events.order[n.events.place[p.sender]].at
		}
		if c != nil {
			for q := range p.sched.Queues {
				change.to[q] = named(c, p.sched.Queues[q].Name, fallback)
			}
		}
		waiting = p.sched.Drain()
	}
	if c == nil {
		p.sched, p.sending = nil, false
		n.events.set(p.sender, Never)
		p.busy = max(free, n.now)
		p.changes = nil
		n.refill(p, waiting, nil)
		return nil
	}
	q := *c
	q.Rate = p.Rate
	if err := q.Check(); err != nil {
		return fmt.Errorf("port %s: %w", p.Name, err)
	}
	if p.sched == nil {
		// What a first-in first-out port has accepted leaves as it was to leave.
		p.sender = n.act(actTransmit, i)
	}
	p.sched = discipline.New(q, n.random)
	p.changes = append(p.changes, change)
	p.sending = true
	n.refill(p, waiting, &change)
	n.events.set(p.sender, max(free, n.now))
	return nil
}

func named(c *discipline.Config, name string, fallback int) uint8 {
	for i, q := range c.Queues {
		if q.Name == name {
			return uint8(i)
		}
	}
	return uint8(fallback)
}

// refill puts drained packets back.
func (n *Net) refill(p *port, waiting [][]discipline.Item, to *requeued) {
	for old, items := range waiting {
		for _, item := range items {
			if to == nil {
				n.enqueue(p, item.Tag, item.ID, item.Size-p.Overhead)
				continue
			}
			pk := &n.pool[item.ID]
			if !p.sched.Enqueue(to.to[old], pk.colour, item) {
				p.Drops++
				n.end(item.ID, droppedQueue)
				n.dropped(pk)
			}
		}
	}
}

// today is the present number of a queue that a route names by the number it had when the route was added.
func (p *port) today(at int32, queue uint8) uint8 {
	for _, c := range p.changes {
		if at < c.since {
			queue = c.to[queue]
		}
	}
	return queue
}

// RerouteTCP gives the packets that a connection sends from now on other routes.
func (n *Net) RerouteTCP(i int, forward, back Route) error {
	f := &n.tcps[i]
	there, err := n.addRoute(forward)
	if err == nil {
		f.there = there
		f.back, err = n.addRoute(back)
	}
	if err != nil {
		return fmt.Errorf("connection %s: %w", f.Name, err)
	}
	return nil
}

// RerouteSource does so for a source, or with back for a ping.
func (n *Net) RerouteSource(i int, forward Route, back *Route) error {
	f := &n.sources[i]
	there, err := n.addRoute(forward)
	if err == nil {
		f.there = there
		if back != nil {
			f.back, err = n.addRoute(*back)
		}
	}
	if err != nil {
		return fmt.Errorf("source %s: %w", f.Name, err)
	}
	return nil
}

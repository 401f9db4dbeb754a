// Package engine is the packet-level simulator: links, queues, routes and the
// connections and sources at their ends, driven by one clock.
//
// Packets live in a pool and move as numbers; each link keeps what it carries in
// a ring, so the event heap has one entry per link, connection and source. A
// first-in first-out port needs one event per packet and hop, a scheduled one
// two. Two runs with one seed are equal to the last packet.
//
// In: ports, routes, flows. Out: the counters of every flow, port and queue.
// Next: services/twin/predict, which builds one from a scenario, and papers.
package engine

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/services/twin/discipline"
	"github.com/millrace/millrace/services/twin/traffic"
)

// Time is simulated picoseconds.
type Time = discipline.Time

// Times.
const (
	Second = discipline.Second
	Never  = discipline.Never
)

// Seconds as Time.
func Seconds(s float64) Time { return Time(s * float64(Second)) }

// Kinds of actors. An actor has events of its own.
const (
	actLink     uint8 = iota // the packet at the head of a link arrives
	actTransmit              // a scheduled port may send
	actSender                // retransmission timer, or the start of a connection
	actReceiver              // delayed acknowledgement
	actSource                // the next packet of a source or ping
	actGate                  // a VPN's queue lets a packet go
	actTick                  // a clock of the caller's
)

type actor struct {
	kind  uint8
	index int32
}

// Net is a network being simulated.
type Net struct {
	now    Time
	events heap
	actors []actor
	random *traffic.Random

	pool []packet
	free []int32
	// ahead is an unused result: reading a packet early prefetches it into the cache.
	ahead int32

	ports    []port
	hops     []hop
	splits   []split
	policers []*discipline.Policer
	maps     []DSCPMap
	tcps     []tcpFlow
	sources  []sourceFlow
	gates    []gate
	ticks    []tick

	// Hops counts packets put on links, the unit of the benchmarks.
	Hops int64
	// Events counts the events handled.
	Events int64
	sent   int64 // packets made
	gone   [reasons]int64
}

// New is an empty network.
func New(seed uint64) *Net { return &Net{random: traffic.NewRandom(seed)} }

// Now is the simulated time.
func (n *Net) Now() Time { return n.now }

func (n *Net) act(kind uint8, index int) int32 {
	n.actors = append(n.actors, actor{kind, int32(index)})
	return n.events.add()
}

// tick is a periodic call.
type tick struct {
	every Time
	do    func(now Time)
	actor int32
}

// Every calls do at equal times, the first after one of them.
func (n *Net) Every(every Time, do func(now Time)) {
	t := tick{every: every, do: do, actor: n.act(actTick, len(n.ticks))}
	n.ticks = append(n.ticks, t)
	n.events.set(t.actor, n.now+every)
}

func (n *Net) tick(t *tick) {
	n.events.set(t.actor, n.now+t.every)
	t.do(n.now)
}

// Run simulates until a time, events at it included.
func (n *Net) Run(until Time) { n.Advance(until, math.MaxInt64) }

// Advance simulates until a time, but no more than so many events, so that a caller can check its context
// at any load. It reports whether the time was reached.
func (n *Net) Advance(until Time, events int64) bool {
	if len(n.actors) == 0 {
		return true
	}
	for ; ; events-- {
		e := n.events.top()
		if e.at > until {
			break
		}
		if events <= 0 {
			return false
		}
		n.now = e.at
		n.Events++
		switch a := n.actors[e.actor]; a.kind {
		case actLink:
			n.deliver(&n.ports[a.index])
		case actTransmit:
			n.transmit(&n.ports[a.index])
		case actSender:
			n.timeout(&n.tcps[a.index])
		case actReceiver:
			n.ackTimer(&n.tcps[a.index])
		case actSource:
			n.emit(&n.sources[a.index])
		case actGate:
			n.release(a.index)
		case actTick:
			n.tick(&n.ticks[a.index])
		}
	}
	n.now = max(n.now, until)
	return true
}

// Check verifies conservation: every packet sent has arrived, was dropped and
// counted, or is on a link or in a queue.
func (n *Net) Check() error {
	var ended, inside int64
	for _, g := range n.gone {
		ended += g
	}
	for i := range n.ports {
		inside += int64(n.ports[i].carried())
	}
	for i := range n.gates {
		inside += int64(n.gates[i].queue.Len())
	}
	if out := int64(len(n.pool) - len(n.free)); out != inside {
		return fmt.Errorf("%d packets are out of the pool and %d are on links and in queues", out, inside)
	}
	if n.sent != ended+inside {
		return fmt.Errorf("%d packets were sent, %d ended and %d are in the network", n.sent, ended, inside)
	}
	return nil
}

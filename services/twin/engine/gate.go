package engine

import (
	"fmt"

	"github.com/millrace/millrace/services/twin/discipline"
)

// Control decides the rate of a gate. It is an interface to the I2VFC law, so that
// the twin runs the same package as the provider edges.
type Control interface {
	// Departed is called for every packet that leaves the gate; true sends a management packet behind it.
	Departed(now Time) bool
	// Answered is called when a management packet is back: with its round-trip time, how many packets had left the
	// gate before it, and how many of them had arrived.
	Answered(now, rtt Time, sent, received uint64)
}

// GateConfig is the logical queue of one VPN at its ingress PE (paper 001, section II).
type GateConfig struct {
	Name string
	// LimitPackets of the queue; 128 in the paper's prototype.
	LimitPackets int
	// Size of a management packet in IP bytes.
	Size int32
	// Forward is the route of management packets, over the links of the VPN's packets; Back is their return route.
	Forward, Back Route
	Control       Control
}

type gate struct {
	GateConfig
	queue          discipline.Ring[int32]
	gap            Time // between packets; zero: no limit
	next           Time // when the next may leave
	actor          int32
	there, back    int32
	sent, received uint64
	drops          int64
}

// AddGate adds one; At hops with Gate and Count name it.
func (n *Net) AddGate(c GateConfig) (int, error) {
	if c.LimitPackets <= 0 || c.Size <= 0 || c.Control == nil {
		return 0, fmt.Errorf("gate %s: limit %d packets, management packets of %d bytes: both above zero, and a Control", c.Name, c.LimitPackets, c.Size)
	}
	g := gate{GateConfig: c}
	var err error
	if g.there, err = n.addRoute(c.Forward); err != nil {
		return 0, fmt.Errorf("gate %s: %w", c.Name, err)
	}
	if g.back, err = n.addRoute(c.Back); err != nil {
		return 0, fmt.Errorf("gate %s, return route: %w", c.Name, err)
	}
	g.actor = n.act(actGate, len(n.gates))
	n.gates = append(n.gates, g)
	return len(n.gates) - 1, nil
}

// SetRate sets the rate of a gate, packets per second; zero: no limit.
func (n *Net) SetRate(index int, packets float64) {
	g := &n.gates[index]
	before := g.gap
	g.gap = 0
	if packets > 0 {
		g.gap = Seconds(1 / packets)
	}
	if g.queue.Len() > 0 && before != g.gap {
		// What is left of the present gap shrinks or grows with it.
		if before > 0 {
			left := float64(max(g.next-n.now, 0)) / float64(before)
			g.next = n.now + Time(left*float64(g.gap))
		}
		n.events.set(g.actor, max(g.next, n.now))
	}
}

// Gate returns the number of packets in a gate's queue, and the number dropped there.
func (n *Net) Gate(index int) (waiting int, drops int64) {
	return n.gates[index].queue.Len(), n.gates[index].drops
}

// enter is a packet at its VPN's queue.
func (n *Net) enter(g *gate, i int32) {
	if g.queue.Len() >= g.LimitPackets {
		g.drops++
		n.end(i, droppedQueue)
		n.dropped(&n.pool[i])
		return
	}
	g.queue.Push(i)
	if g.queue.Len() == 1 {
		n.events.set(g.actor, max(g.next, n.now))
	}
}

// release sends the head of the queue.
func (n *Net) release(index int32) {
	g := &n.gates[index]
	i := g.queue.Pop()
	g.sent++
	g.next = n.now + g.gap
	at := Never
	if g.queue.Len() > 0 {
		at = g.next
	}
	n.events.set(g.actor, at)
	n.pool[i].at++
	n.forward(i)
	if g.Control.Departed(n.now) {
		n.ask(index)
	}
}

// ask sends a management packet.
func (n *Net) ask(index int32) {
	g := &n.gates[index]
	i := n.make()
	n.pool[i] = packet{seq: int64(g.sent), born: n.now, at: g.there, flow: index, size: g.Size, kind: probe, queue: -1}
	n.forward(i)
}

// answer returns a management packet from the egress PE with the count of arrivals there.
func (n *Net) answer(i int32) {
	pk := &n.pool[i]
	g := &n.gates[pk.flow]
	pk.kind, pk.at, pk.low = probed, g.back, int64(g.received)
	n.forward(i)
}

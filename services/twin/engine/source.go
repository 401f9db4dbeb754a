package engine

import (
	"fmt"

	"github.com/millrace/millrace/services/twin/traffic"
)

// SourceConfig is a source without congestion control (UDP), or a ping.
type SourceConfig struct {
	Name string
	traffic.Pattern
	// Size of the IP packets in bytes.
	Size int32
	// Payload counted per packet in goodput; default Size.
	Payload     int32
	Start, Stop Time
	// Count is how many packets it sends at most; zero: until Stop.
	Count int64
	// Forward is the route of its packets. Back makes it a ping, and is the route of the replies.
	Forward Route
	Back    *Route
	DSCP    uint8
}

type sourceFlow struct {
	SourceConfig
	play        traffic.Source
	there, back int32
	actor       int32
	next        int64 // sequence number
	expected    int64
	series      Series
	delays      Delays
	SourceCounters
	lastDelay Time
}

// SourceCounters count the packets of a source.
type SourceCounters struct {
	Sent, Received, Lost, OutOfOrder int64
	// Marked arrived with a DSCP other than they were sent with; DSCP is what the last one arrived with.
	Marked int64
	DSCP   uint8
	// SentBy and LostBy count per second of sending.
	SentBy, LostBy []int32
}

// AddSource adds one and returns its number.
func (n *Net) AddSource(c SourceConfig) (int, error) {
	if err := c.Check(); err != nil {
		return 0, fmt.Errorf("source %s: %w", c.Name, err)
	}
	if c.Size <= 0 || c.Stop <= c.Start {
		return 0, fmt.Errorf("source %s: packets of %d bytes from %d to %d ps", c.Name, c.Size, c.Start, c.Stop)
	}
	if c.Payload == 0 {
		c.Payload = c.Size
	}
	f := sourceFlow{SourceConfig: c, play: traffic.Source{Pattern: c.Pattern}, back: -1}
	var err error
	if f.there, err = n.addRoute(c.Forward); err != nil {
		return 0, fmt.Errorf("source %s: %w", c.Name, err)
	}
	if c.Back != nil {
		if f.back, err = n.addRoute(*c.Back); err != nil {
			return 0, fmt.Errorf("source %s, return route: %w", c.Name, err)
		}
	}
	f.actor = n.act(actSource, len(n.sources))
	n.events.set(f.actor, c.Start)
	n.sources = append(n.sources, f)
	return len(n.sources) - 1, nil
}

// emit sends the next packet of a source.
func (n *Net) emit(f *sourceFlow) {
	if n.now >= f.Stop || f.Count > 0 && f.next >= f.Count {
		n.events.set(f.actor, Never)
		return
	}
	kind := datagram
	if f.back >= 0 {
		kind = echo
	}
	i := n.make()
	n.pool[i] = packet{seq: f.next, born: n.now, at: f.there, flow: n.actors[f.actor].index, size: f.Size, kind: kind, queue: -1, dscp: f.SourceConfig.DSCP}
	f.next++
	f.Sent++
	f.SentBy = count(f.SentBy, n.now, 1)
	// Half a picosecond would add up over 10^9 packets to half a millisecond: gaps are rounded, not cut.
	n.events.set(f.actor, n.now+Time(f.play.Next(n.random)*float64(Second)+0.5))
	n.forward(i)
}

// consume is the end of a route.
func (n *Net) consume(i int32) {
	pk := n.pool[i]
	if pk.kind == echo {
		f := &n.sources[pk.flow]
		n.pool[i].kind, n.pool[i].at, n.pool[i].colour = reply, f.back, 0
		n.forward(i)
		return
	}
	if pk.kind == probe {
		n.answer(i)
		return
	}
	n.end(i, arrived)
	switch pk.kind {
	case data:
		n.segment(pk)
	case ack:
		n.acked(pk)
	case probed:
		n.gates[pk.flow].Control.Answered(n.now, n.now-pk.born, uint64(pk.seq), uint64(pk.low))
	default:
		n.sink(&n.sources[pk.flow], &pk)
	}
}

// sink receives a datagram or a reply.
func (n *Net) sink(f *sourceFlow, pk *packet) {
	f.Received++
	if pk.seq != f.expected {
		f.OutOfOrder++
	}
	f.expected = pk.seq + 1
	if f.SourceCounters.DSCP = pk.dscp; pk.dscp != f.SourceConfig.DSCP {
		f.Marked++
	}
	f.series.add(n.now, int64(f.Payload))
	f.delays.add(pk.born, n.now-pk.born)
	f.lastDelay = n.now - pk.born
}

// dropped counts a loss for its flow.
func (n *Net) dropped(pk *packet) {
	switch pk.kind {
	case data:
		n.tcps[pk.flow].lost++
	case datagram, echo, reply:
		f := &n.sources[pk.flow]
		f.Lost++
		f.LostBy = count(f.LostBy, pk.born, 1)
	}
}

package engine

import (
	"fmt"

	"github.com/millrace/millrace/services/twin/tcp"
)

// TCPConfig is one connection.
type TCPConfig struct {
	Name string
	tcp.Config
	Receiver tcp.Policy
	// AckEvery is how many segments one delayed acknowledgement covers; default 2.
	AckEvery int
	// AckDelay is the receiver's timer; default 200 ms.
	AckDelay Time
	// Payload and Header bytes of a full segment; an acknowledgement is a Header.
	Payload, Header int32
	Start, Stop     Time
	// HostQueue is how many bytes of the connection the host's own interface, the first port of the route,
	// queues; zero: no limit. A host does not drop its own segments: the sender waits.
	HostQueue int64
	// HostReacts makes the sender reduce its window then, as Linux did before 3.6; else it waits silently.
	HostReacts bool
	// Forward and reverse routes.
	Forward, Back Route
	DSCP          uint8
}

type tcpFlow struct {
	TCPConfig
	send          *tcp.Sender
	recv          *tcp.Receiver
	there, back   int32
	timer, acker  int32
	first         int32 // the host's own port
	started, shut bool
	done          Time
	series        Series
	received      int64 // segments at the receiver, retransmissions too
	repeats       []int32
	lost          int64
}

// AddTCP adds a connection and returns its number.
func (n *Net) AddTCP(c TCPConfig) (int, error) {
	if c.Payload <= 0 || c.Header < 0 || c.Stop <= c.Start {
		return 0, fmt.Errorf("connection %s: payload %d, from %d to %d ps: a payload above zero and an end after the start", c.Name, c.Payload, c.Start, c.Stop)
	}
	if c.AckDelay == 0 {
		c.AckDelay = Second / 5
	}
	f := tcpFlow{TCPConfig: c, send: tcp.NewSender(c.Config), done: Never}
	f.recv = tcp.NewReceiver(c.Receiver, c.AckDelay, f.send.Config.Window)
	if c.AckEvery > 0 {
		f.recv.Every = c.AckEvery
	}
	var err error
	if f.there, err = n.addRoute(c.Forward); err != nil {
		return 0, fmt.Errorf("connection %s: %w", c.Name, err)
	}
	if f.back, err = n.addRoute(c.Back); err != nil {
		return 0, fmt.Errorf("connection %s, return route: %w", c.Name, err)
	}
	f.first = -1
	if n.hops[f.there].kind == hopPort {
		f.first = n.hops[f.there].target
	}
	index := len(n.tcps)
	f.timer, f.acker = n.act(actSender, index), n.act(actReceiver, index)
	n.events.set(f.timer, c.Start)
	n.tcps = append(n.tcps, f)
	return index, nil
}

// push sends what the windows and the host's interface allow. If the interface is full, it returns the time to try
// again.
func (n *Net) push(f *tcpFlow, index int32) (again Time) {
	again = Never
	if f.shut || n.now >= f.Stop {
		f.shut = true
		return again
	}
	for {
		if f.HostQueue > 0 && n.Waiting(int(f.first)) > f.HostQueue {
			f.send.Hold()
			if f.HostReacts {
				f.send.Reduce(n.now) // and waits for an acknowledgement, as Linux before 3.6
				break
			}
			p := &n.ports[f.first]
			again = n.now + max((n.Waiting(int(f.first))-f.HostQueue)*p.perByte>>10, 1)
			break
		}
		seq, repeated, ok := f.send.Next(n.now)
		if !ok {
			break
		}
		if repeated {
			f.repeats = count(f.repeats, n.now, 1)
		}
		i := n.make()
		n.pool[i] = packet{seq: seq, born: n.now, at: f.there, flow: index, size: f.Payload + f.Header, kind: data, queue: -1, dscp: f.DSCP, again: repeated}
		n.forward(i)
	}
	return again
}

// segment arrives at the receiver.
func (n *Net) segment(pk packet) {
	f := &n.tcps[pk.flow]
	before := f.recv.Next()
	due := f.recv.Segment(n.now, pk.seq, pk.again)
	f.received++
	if fresh := f.recv.Next() - before; fresh > 0 {
		f.series.add(n.now, fresh*int64(f.Payload))
	}
	if due {
		n.acknowledge(f, pk.flow, pk.born)
	}
	n.sooner(f.acker, f.recv.Deadline)
}

// sooner moves a timer only to an earlier time. A timer that moves later expires at its old time and is set again
// then: one heap operation per expiry instead of one per packet.
func (n *Net) sooner(actor int32, at Time) {
	if at < n.events.order[n.events.place[actor]].at {
		n.events.set(actor, at)
	}
}

func (n *Net) acknowledge(f *tcpFlow, index int32, born Time) {
	low, high := f.recv.Block()
	i := n.make()
	n.pool[i] = packet{seq: f.recv.Next(), low: low, high: high, born: born, at: f.back, flow: index, size: f.Header, kind: ack, queue: -1, dscp: f.DSCP}
	n.forward(i)
}

// ackTimer is the delayed acknowledgement.
func (n *Net) ackTimer(f *tcpFlow) {
	if n.now >= f.recv.Deadline && f.recv.Expire() {
		// Without a segment at hand the echo is now less the delay: RFC 7323 echoes the first unacknowledged one.
		n.acknowledge(f, n.indexOf(f), n.now-f.AckDelay)
	}
	n.events.set(f.acker, f.recv.Deadline)
}

func (n *Net) indexOf(f *tcpFlow) int32 { return n.actors[f.timer].index }

// acked arrives at the sender.
func (n *Net) acked(pk packet) {
	f := &n.tcps[pk.flow]
	if f.shut && f.send.Una() >= pk.seq {
		return
	}
	f.send.Ack(n.now, pk.seq, pk.low, pk.high, n.now-pk.born)
	if f.send.Done() && f.done == Never {
		f.done = n.now
	}
	again := n.push(f, pk.flow)
	n.sooner(f.timer, min(again, f.send.Deadline))
}

// timeout is the start of a connection, or its timer.
func (n *Net) timeout(f *tcpFlow) {
	index := n.indexOf(f)
	switch {
	case !f.started:
		f.started = true
		f.send.Start(n.now)
	case n.now >= f.send.Deadline && !f.shut:
		f.send.Expire(n.now)
	}
	again := n.push(f, index)
	at := min(again, f.send.Deadline)
	if f.shut {
		at = Never
	}
	n.events.set(f.timer, at)
}

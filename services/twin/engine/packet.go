package engine

// Kinds of packets.
const (
	data uint8 = iota
	ack
	datagram
	echo
	reply
	probe  // a management packet to the egress PE
	probed // and back
)

// packet is a packet on its route; packets are entries of the pool.
type packet struct {
	seq       int64
	low, high int64 // of an acknowledgement: the block beyond seq
	born      Time  // of an acknowledgement: when the segment that caused it was sent
	at        int32 // the hop it begins at, or waits at in a gate
	flow      int32
	size      int32 // IP bytes
	kind      uint8
	colour    uint8
	queue     int8 // the queue that a policer set instead of the hop's; negative: none
	dscp      uint8
	again     bool // a retransmission
	// One packet, one cache line.
	_ [8]byte
}

// Reasons for the end of a packet.
const (
	arrived uint8 = iota
	droppedQueue
	droppedEarly
	droppedPolicer
	lostOnWire
	reasons
)

// Ended counts packets by the reason of their end.
type Ended struct {
	Arrived, QueueFull, DrawnEarly, Policed, LostOnWire int64
}

// Ended counts over the whole run.
func (n *Net) Ended() Ended {
	g := n.gone
	return Ended{g[arrived], g[droppedQueue], g[droppedEarly], g[droppedPolicer], g[lostOnWire]}
}

// make takes a packet from the pool; its fields are those of its last use.
func (n *Net) make() int32 {
	n.sent++
	if last := len(n.free) - 1; last >= 0 {
		i := n.free[last]
		n.free = n.free[:last]
		return i
	}
	n.pool = append(n.pool, packet{})
	return int32(len(n.pool) - 1)
}

// end returns a packet to the pool.
func (n *Net) end(i int32, reason uint8) {
	n.gone[reason]++
	n.free = append(n.free, i)
}

package engine

import (
	"fmt"
	"slices"
)

// Hop is one step of a route, as configured.
type Hop struct {
	Port int
	// Queue the packet waits in at a scheduled port.
	Queue uint8
	// Classes, where not nil, picks the queue by DSCP instead.
	Classes *DSCPMap
	// Policer that the packet passes before; 0: none. AddPolicer returns it.
	Policer int
	// Mark is the DSCP written before the port; negative: none.
	Mark int8
	// Gate and Count, where above zero, make this hop the ingress or egress PE of gate number Gate-1 or Count-1
	// instead of a port.
	Gate, Count int
}

// At is a plain hop.
func At(port int) Hop { return Hop{Port: port, Mark: -1} }

// DSCPMap is the queue of each DSCP.
type DSCPMap [64]uint8

// hop is one step as the engine walks it.
type hop struct {
	kind    uint8
	queue   uint8
	mark    int8
	classes int16
	policer int16
	target  int32 // port or split
}

// Kinds of hops.
const (
	hopPort uint8 = iota
	hopSplit
	hopEnd
	hopGate
	hopCount
)

// Spread is how a router balances load over several paths.
type Spread uint8

// The load balancing of papers 000 and 003.
const (
	// RoundRobin sends packets to the paths in turn, in proportion to weights (packet spraying).
	RoundRobin Spread = iota
	// RandomPacket draws a path for every packet.
	RandomPacket
	// FlowHash keeps a flow on one path.
	FlowHash
)

// Branch is one of several paths from a router to the end of the route.
type Branch struct {
	// Weight among the branches; zero counts as one.
	Weight int
	Route  Route
}

// Route is the path of packets from end to end: hops, then either the end or a choice of branches.
type Route struct {
	Hops   []Hop
	Spread Spread
	Split  []Branch
	known  int32 // one more than where it begins, once AddRoute has written it down
}

type split struct {
	spread Spread
	// table lists the starts of branches, each as often as its weight.
	table []int32
	turn  int32
}

// addRoute stores a route and returns its first hop.
func (n *Net) addRoute(r Route) (int32, error) {
	if r.known > 0 {
		return r.known - 1, nil
	}
	if len(r.Hops) == 0 && len(r.Split) == 0 {
		return 0, fmt.Errorf("a route has no hops: there is no path")
	}
	start := int32(len(n.hops))
	for _, h := range r.Hops {
		if h.Gate > 0 || h.Count > 0 {
			kind, number := hopGate, h.Gate
			if h.Count > 0 {
				kind, number = hopCount, h.Count
			}
			if number > len(n.gates) {
				return 0, fmt.Errorf("a route uses gate %d of %d", number-1, len(n.gates))
			}
			n.hops = append(n.hops, hop{kind: kind, target: int32(number - 1), mark: -1})
			continue
		}
		if h.Port < 0 || h.Port >= len(n.ports) {
			return 0, fmt.Errorf("a route uses port %d of %d", h.Port, len(n.ports))
		}
		if s := n.ports[h.Port].sched; s != nil && int(h.Queue) >= len(s.Queues) {
			return 0, fmt.Errorf("a route uses queue %d of port %s, which has %d", h.Queue, n.ports[h.Port].Name, len(s.Queues))
		}
		n.hops = append(n.hops, hop{
			kind: hopPort, target: int32(h.Port), queue: h.Queue, mark: h.Mark, policer: int16(h.Policer), classes: n.classes(h.Classes),
		})
	}
	if len(r.Split) == 0 {
		n.hops = append(n.hops, hop{kind: hopEnd})
		return start, nil
	}
	at := len(n.splits)
	n.hops = append(n.hops, hop{kind: hopSplit, target: int32(at)})
	n.splits = append(n.splits, split{spread: r.Spread})
	var table []int32
	for _, b := range r.Split {
		begin, err := n.addRoute(b.Route)
		if err != nil {
			return 0, err
		}
		for range max(b.Weight, 1) {
			table = append(table, begin)
		}
	}
	n.splits[at].table = table
	return start, nil
}

// classes is the number of a map. Routes are many, and the maps that plans make few.
func (n *Net) classes(m *DSCPMap) int16 {
	if m == nil {
		return -1
	}
	if known := slices.Index(n.maps, *m); known >= 0 {
		return int16(known)
	}
	n.maps = append(n.maps, *m)
	return int16(len(n.maps) - 1)
}

// forward moves a packet along its route from the first hop, or from a branch.
func (n *Net) forward(i int32) { n.walk(n.pool[i].at, i, n.pool[i].size) }

// walk moves a packet to the next port, choice or end.
func (n *Net) walk(at, i, size int32) {
	for {
		h := &n.hops[at]
		switch h.kind {
		case hopEnd:
			n.consume(i)
			return
		case hopSplit:
			at = n.choose(&n.splits[h.target], n.pool[i].flow)
			continue
		case hopGate:
			n.pool[i].at = at // where it goes on from
			n.enter(&n.gates[h.target], i)
			return
		case hopCount:
			n.gates[h.target].received++
			at++
			continue
		}
		if (h.policer > 0 || h.mark >= 0) && !n.condition(h, i) {
			return
		}
		n.enqueue(&n.ports[h.target], at, i, size)
		return
	}
}

func (n *Net) choose(s *split, flow int32) int32 {
	switch s.spread {
	case RoundRobin:
		s.turn++
		if int(s.turn) >= len(s.table) {
			s.turn = 0
		}
		return s.table[s.turn]
	case RandomPacket:
		return s.table[n.random.Below(len(s.table))]
	}
	return s.table[hash(uint32(flow))%uint32(len(s.table))]
}

// hash mixes a flow's number as a router mixes a 5-tuple (Murmur3's finalizer).
func hash(x uint32) uint32 {
	x = (x + 0x9e3779b9) * 0x85ebca6b
	x ^= x >> 13
	x *= 0xc2b2ae35
	return x ^ x>>16
}

// condition marks and polices; false means that the packet was dropped.
func (n *Net) condition(h *hop, i int32) bool {
	pk := &n.pool[i]
	if h.mark >= 0 {
		pk.dscp = uint8(h.mark)
	}
	if h.policer == 0 {
		return true
	}
	p := n.policers[h.policer-1]
	if p.Queue >= 0 && h.classes >= 0 && int8(n.maps[h.classes][pk.dscp]) != p.Queue {
		return true
	}
	a := p.Action(p.Judge(n.now, pk.size))
	if a.Drop {
		n.end(i, droppedPolicer)
		n.dropped(pk)
		return false
	}
	if a.Colour > 0 {
		pk.colour = a.Colour
	}
	if a.DSCP >= 0 {
		pk.dscp = uint8(a.DSCP)
	}
	if a.Queue >= 0 {
		pk.queue = a.Queue
	}
	return true
}

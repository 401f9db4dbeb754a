package online

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
	"unsafe"

	"github.com/millrace/millrace/services/alpha/detect"
)

// flowKey is a flow at an exporter, as one piece of memory, which is what a map hashes fastest.
type flowKey struct {
	exporter, src, dst [16]byte
	srcPort, dstPort   uint16
	protocol, _        uint8
}

func keyOf(s detect.Sum) flowKey {
	return flowKey{
		exporter: s.Exporter.As16(), src: s.Flow.Src.Addr().As16(), dst: s.Flow.Dst.Addr().As16(),
		srcPort: s.Flow.Src.Port(), dstPort: s.Flow.Dst.Port(), protocol: s.Flow.Protocol,
	}
}

// counter is what one flow sent in one interval.
type counter struct {
	key            flowKey
	bytes, packets uint64
	rate           uint64 // as detect.Sum.SamplingRate
	lastEnd        int64  // in milliseconds
	// missed is what the flow before it had at most sent when its counter was taken: this one may have sent it.
	missed uint64
	// largest is the largest piece, of which the interface is.
	largest uint64
	inIf    uint32
	heap    int32
}

func (c *counter) add(piece detect.Sum) {
	s := detect.Sum{Bytes: c.bytes, Packets: c.packets, SamplingRate: c.rate, LastRecordEnd: time.UnixMilli(c.lastEnd)}.Add(piece)
	c.bytes, c.packets, c.rate, c.lastEnd = s.Bytes, s.Packets, s.SamplingRate, s.LastRecordEnd.UnixMilli()
	if piece.Bytes > c.largest {
		c.largest, c.inIf = piece.Bytes, piece.Flow.InIf
	}
}

func (c *counter) sum(start time.Time) detect.Sum {
	addr := func(raw [16]byte) netip.Addr { return netip.AddrFrom16(raw).Unmap() }
	return detect.Sum{
		Exporter: addr(c.key.exporter), Start: start, Bytes: c.bytes, Packets: c.packets, SamplingRate: c.rate,
		LastRecordEnd: time.UnixMilli(c.lastEnd).UTC(), Flow: detect.Flow{
			Src: netip.AddrPortFrom(addr(c.key.src), c.key.srcPort), Dst: netip.AddrPortFrom(addr(c.key.dst), c.key.dstPort),
			Protocol: c.key.protocol, InIf: c.inIf,
		},
	}
}

// upper is what the flow sent at most, sampling aside.
func (c *counter) upper() uint64 {
	if c.bytes+c.missed < c.missed {
		return ^uint64(0)
	}
	return c.bytes + c.missed
}

// counterOctets is a counter with its places in the map, half of which may be empty, and in the heap.
const counterOctets = int64(unsafe.Sizeof(counter{})) + 2*(int64(unsafe.Sizeof(flowKey{}))+8) + 4

// table holds the counters of one interval: all flows as long as there is room, then the largest.
type table struct {
	room     int
	at       map[flowKey]int32
	counters []counter
	// order is a heap of counters, least first, once there is no room.
	order []int32
}

func newTable(room int) *table { return &table{room: room, at: map[flowKey]int32{}} }

func (t *table) get(key flowKey) (*counter, bool) {
	i, ok := t.at[key]
	if !ok {
		return nil, false
	}
	return &t.counters[i], true
}

// least is what a flow without a counter has sent at most.
func (t *table) least() uint64 {
	if len(t.counters) < t.room {
		return 0
	}
	t.sort()
	return t.counters[t.order[0]].upper()
}

// add counts a piece, and reports whether another flow lost its counter to it.
func (t *table) add(piece detect.Sum) (c *counter, displaced bool) {
	key := keyOf(piece)
	i, known := t.at[key]
	switch {
	case known:
	case len(t.counters) < t.room:
		i = int32(len(t.counters))
		t.counters = append(t.counters, fresh(key, piece))
		t.at[key] = i
	default:
		t.sort()
		i, displaced = t.order[0], true
		last := &t.counters[i]
		delete(t.at, last.key)
		t.at[key] = i
		missed, heap := last.upper(), last.heap
		*last = fresh(key, piece)
		last.missed, last.heap = missed, heap
	}
	c = &t.counters[i]
	c.add(piece)
	if t.order != nil {
		t.down(int(c.heap))
	}
	return c, displaced
}

// fresh is a counter of a flow before its first piece.
func fresh(key flowKey, piece detect.Sum) counter {
	return counter{key: key, rate: piece.SamplingRate, inIf: piece.Flow.InIf, lastEnd: piece.LastRecordEnd.UnixMilli()}
}

// sort makes the heap when there is no room for the first time.
func (t *table) sort() {
	if t.order != nil {
		return
	}
	t.order = make([]int32, len(t.counters))
	for i := range t.order {
		t.order[i] = int32(i)
	}
	slices.SortFunc(t.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.counters[a].upper(), t.counters[b].upper()), cmp.Compare(a, b))
	})
	for at, i := range t.order {
		t.counters[i].heap = int32(at)
	}
}

// down moves a counter that grew away from the least.
func (t *table) down(at int) {
	for {
		least := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(t.order); child++ {
			if t.counters[t.order[child]].upper() < t.counters[t.order[least]].upper() {
				least = child
			}
		}
		if least == at {
			return
		}
		t.order[at], t.order[least] = t.order[least], t.order[at]
		t.counters[t.order[at]].heap, t.counters[t.order[least]].heap = int32(at), int32(least)
		at = least
	}
}

// sortFindings puts them in an order that does not depend on maps.
func sortFindings(all []Finding) {
	port := func(a, b netip.AddrPort) int { return a.Compare(b) }
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(
			a.Key.Compare(b.Key), a.Evidence.Start.Compare(b.Evidence.Start),
			port(a.Evidence.Flow.Src, b.Evidence.Flow.Src), port(a.Evidence.Flow.Dst, b.Evidence.Flow.Dst),
			cmp.Compare(a.Evidence.Flow.Protocol, b.Evidence.Flow.Protocol),
		)
	})
}

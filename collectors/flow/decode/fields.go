package decode

import (
	"net/netip"
	"time"
)

// reading is a record while its fields are read: the flow, and what must be weighed before it is one.
type reading struct {
	f                                *Flow
	exported                         time.Time // the message
	start, end, init                 time.Time
	hasFirst, hasLast                bool
	hasDelta                         bool // of bytes, in or out
	event                            bool // of NAT or a firewall
	icmp                             uint16
	totalBytes, totalPackets         uint64
	outBytes, outPackets             uint64
	initiatorBytes, initiatorPackets uint64
	sampling                         samplingFields
}

// number reads an unsigned integer of any legal (reduced) size; longer ones are 0.
func number(b []byte) uint64 {
	switch len(b) {
	case 4:
		return uint64(be.Uint32(b))
	case 2:
		return uint64(be.Uint16(b))
	case 1:
		return uint64(b[0])
	case 8:
		return be.Uint64(b)
	}
	if len(b) > 8 {
		return 0
	}
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

func (r *reading) take(to target, b []byte) {
	switch {
	case to <= lastOfFlow:
		r.takeFlow(to, number(b))
	case to == toSrc:
		setAddr(&r.f.Record.Src, b)
	case to == toDst:
		setAddr(&r.f.Record.Dst, b)
	default:
		r.takeOther(to, number(b), b)
	}
}

// setAddr ignores 0.0.0.0 and :: beside an address of the other family: some
// exporters put both families into one template.
func setAddr(to *netip.Addr, b []byte) {
	if to.IsValid() && !to.IsUnspecified() {
		return
	}
	switch len(b) {
	case 4:
		*to = netip.AddrFrom4([4]byte(b))
	case 16:
		*to = netip.AddrFrom16([16]byte(b)).Unmap()
	}
}

func (r *reading) takeFlow(to target, n uint64) {
	rec := &r.f.Record
	switch to {
	case toBytes:
		rec.Bytes, r.hasDelta = n, true
	case toPackets:
		rec.Packets = n
	case toProtocol:
		rec.Protocol = uint8(n)
	case toTOS:
		rec.TOS = uint8(n)
	case toTCPFlags:
		rec.TCPFlags = uint16(n)
	case toSrcPort:
		rec.SrcPort = uint16(n)
	case toDstPort:
		rec.DstPort = uint16(n)
	case toInIf:
		rec.InIf = uint32(n)
	case toOutIf:
		rec.OutIf = uint32(n)
	case toFirst:
		r.f.First, r.hasFirst = uint32(n), true
	case toLast:
		r.f.Last, r.hasLast = uint32(n), true
	case toStartSeconds:
		r.start = time.Unix(int64(uint32(n)), 0).UTC()
	case toEndSeconds:
		r.end = time.Unix(int64(uint32(n)), 0).UTC()
	case toStartMilliseconds:
		r.start = unixMilli(n)
	case toEndMilliseconds:
		r.end = unixMilli(n)
	case toStartNTP:
		r.start = ntpTime(n)
	case toEndNTP:
		r.end = ntpTime(n)
	case toStartDelta:
		r.start = r.before(n)
	case toEndDelta:
		r.end = r.before(n)
	case toFlowLabel:
		r.f.Record.FlowLabel = uint32(n) & 0xfffff
	}
}

// before is so many microseconds before the message was exported.
func (r *reading) before(microseconds uint64) time.Time {
	return r.exported.Add(-time.Duration(uint32(microseconds)) * time.Microsecond)
}

func (r *reading) takeOther(to target, n uint64, b []byte) {
	switch to {
	case toOutBytes:
		r.outBytes, r.hasDelta = n, true
	case toOutPackets:
		r.outPackets = n
	case toTotalBytes:
		r.totalBytes = n
	case toTotalPackets:
		r.totalPackets = n
	case toInitiatorBytes:
		r.initiatorBytes = n
	case toInitiatorPackets:
		r.initiatorPackets = n
	case toICMP:
		r.icmp = uint16(n)
	case toEvent:
		r.event = r.event || n != 0
	case toSystemInit:
		r.init = unixMilli(n)
	case toSelector:
		r.sampling.selector = n
	case toInterval:
		r.sampling.interval = n
	case toPacketInterval:
		r.sampling.packets = n
	case toPacketSpace:
		r.sampling.space = n
	case toSize:
		r.sampling.size = n
	case toPopulation:
		r.sampling.population = n
	case toProbability:
		r.sampling.oneIn = oneInOf(b)
	}
}

func unixMilli(n uint64) time.Time { return time.UnixMilli(int64(n)).UTC() }

// ntpTime reads the 64-bit NTP format, RFC 7011 section 6.1.9: seconds since 1900 and their fraction.
func ntpTime(n uint64) time.Time {
	const from1900To1970 = 2_208_988_800
	nanoseconds := (n & 0xffffffff) * 1e9 >> 32
	return time.Unix(int64(n>>32)-from1900To1970, int64(nanoseconds)).UTC()
}

// finish makes the record a flow, if it is one: both addresses and a byte count.
func (r *reading) finish() bool {
	f := r.f
	rec := &f.Record
	rec.Bytes, rec.Packets = firstNonZero(rec.Bytes, r.outBytes), firstNonZero(rec.Packets, r.outPackets)
	// A total beside a delta was counted in the deltas of earlier records, also where this one's is zero.
	if !r.hasDelta {
		rec.Bytes = firstNonZero(r.totalBytes, r.initiatorBytes)
		rec.Packets = firstNonZero(rec.Packets, firstNonZero(r.totalPackets, r.initiatorPackets))
	}
	rec.Start, rec.End = r.start, r.end
	f.Relative = r.hasFirst && r.hasLast && (r.start.IsZero() || r.end.IsZero())
	if rec.DstPort == 0 && r.icmp != 0 { // as NetFlow v5 and nfdump put it
		rec.DstPort = r.icmp
	}
	f.Selector, f.Rate = r.sampling.selector, r.sampling.rate()
	return rec.Src.IsValid() && rec.Dst.IsValid() && rec.Bytes > 0
}

func firstNonZero(a, b uint64) uint64 {
	if a != 0 {
		return a
	}
	return b
}

// reverseOf completes the reverse direction of a biflow, which has counters, times and flags of its own, from the
// forward direction, of which it shares the rest: addresses and ports swapped, interfaces too where it names none.
func (r *reading) reverseOf(forward *reading) {
	to, from := &r.f.Record, &forward.f.Record
	to.Src, to.Dst, to.SrcPort, to.DstPort, to.Protocol = from.Dst, from.Src, from.DstPort, from.SrcPort, from.Protocol
	if to.InIf == 0 {
		to.InIf = from.OutIf
	}
	if to.OutIf == 0 {
		to.OutIf = from.InIf
	}
	r.sampling = forward.sampling
	if r.start.IsZero() && r.end.IsZero() && !r.hasFirst && !r.hasLast {
		r.start, r.end, r.hasFirst, r.hasLast = forward.start, forward.end, forward.hasFirst, forward.hasLast
		r.f.First, r.f.Last = forward.f.First, forward.f.Last
	}
}

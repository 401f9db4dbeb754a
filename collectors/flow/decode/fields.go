package decode

import (
	"net/netip"
	"time"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
)

// Information elements this product uses; IANA's registry of IPFIX entities,
// whose first 127 are NetFlow v9's field types.
const (
	octetDeltaCount          = 1
	packetDeltaCount         = 2
	protocolIdentifier       = 4
	ipClassOfService         = 5
	tcpControlBits           = 6
	sourceTransportPort      = 7
	sourceIPv4Address        = 8
	ingressInterface         = 10
	destinationTransportPort = 11
	destinationIPv4Address   = 12
	egressInterface          = 14
	flowEndSysUpTime         = 21
	flowStartSysUpTime       = 22
	postOctetDeltaCount      = 23
	postPacketDeltaCount     = 24
	sourceIPv6Address        = 27
	destinationIPv6Address   = 28
	icmpTypeCodeIPv4         = 32
	samplingInterval         = 34
	samplerID                = 48
	samplerRandomInterval    = 50
	octetTotalCount          = 85
	packetTotalCount         = 86
	icmpTypeCodeIPv6         = 139
	flowStartSeconds         = 150
	flowEndSeconds           = 151
	flowStartMilliseconds    = 152
	flowEndMilliseconds      = 153
	flowStartMicroseconds    = 154
	flowEndMicroseconds      = 155
	flowStartNanoseconds     = 156
	flowEndNanoseconds       = 157
	initiatorOctets          = 231
	initiatorPackets         = 298
	systemInitMilliseconds   = 160
	selectorID               = 302
	samplingPacketInterval   = 305
	samplingPacketSpace      = 306
	samplingSize             = 309
	samplingPopulation       = 310
)

// v9 scope types (RFC 3954 section 6.1) that differ from information elements.
const scopeInterface = 2

// number reads an unsigned integer of any legal (reduced) size.
func number(b []byte) uint64 {
	if len(b) > 8 {
		return 0
	}
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// reading is a record while its fields are read.
type reading struct {
	Flow
	start, end, init         time.Time
	hasFirst, hasLast        bool
	icmp                     uint16
	hasDelta                 bool // of bytes, in or out
	totalBytes, totalPackets uint64
	outBytes, outPackets     uint64
	fromInitiator, sent      uint64 // bytes, packets
	sampling                 samplingFields
}

func takeRecord(fields []netflow.DataField, m *Message) {
	var r reading
	for i := range fields {
		f := &fields[i]
		if b, ok := f.Value.([]byte); ok && !f.PenProvided {
			r.take(f.Type, b)
		}
	}
	if !r.init.IsZero() {
		m.SystemInit = r.init
	}
	if f, ok := r.flow(); ok {
		m.Flows = append(m.Flows, f)
	} else {
		m.NotFlows++
	}
}

func (r *reading) take(element uint16, b []byte) {
	rec := &r.Record
	switch element {
	case octetDeltaCount:
		rec.Bytes, r.hasDelta = number(b), true
	case packetDeltaCount:
		rec.Packets = number(b)
	case octetTotalCount:
		r.totalBytes = number(b)
	case packetTotalCount:
		r.totalPackets = number(b)
	case postOctetDeltaCount:
		r.outBytes, r.hasDelta = number(b), true
	case postPacketDeltaCount:
		r.outPackets = number(b)
	case initiatorOctets:
		r.fromInitiator = number(b)
	case initiatorPackets:
		r.sent = number(b)
	case protocolIdentifier:
		rec.Protocol = uint8(number(b))
	case ipClassOfService:
		rec.TOS = uint8(number(b))
	case tcpControlBits:
		rec.TCPFlags = uint16(number(b))
	case sourceTransportPort:
		rec.SrcPort = uint16(number(b))
	case destinationTransportPort:
		rec.DstPort = uint16(number(b))
	case icmpTypeCodeIPv4, icmpTypeCodeIPv6:
		r.icmp = uint16(number(b))
	case sourceIPv4Address, sourceIPv6Address:
		setAddr(&rec.Src, b)
	case destinationIPv4Address, destinationIPv6Address:
		setAddr(&rec.Dst, b)
	case ingressInterface:
		rec.InIf = uint32(number(b))
	case egressInterface:
		rec.OutIf = uint32(number(b))
	default:
		if !r.takeTime(element, b) {
			r.sampling.take(element, b)
		}
	}
}

// setAddr ignores 0.0.0.0 and :: beside an address of the other family: some
// exporters put both families into one template.
func setAddr(to *netip.Addr, b []byte) {
	a, ok := netip.AddrFromSlice(b)
	if ok && (!to.IsValid() || to.IsUnspecified()) {
		*to = a.Unmap()
	}
}

func (r *reading) takeTime(element uint16, b []byte) bool {
	switch element {
	case flowStartSysUpTime:
		r.First, r.hasFirst = uint32(number(b)), true
	case flowEndSysUpTime:
		r.Last, r.hasLast = uint32(number(b)), true
	case flowStartSeconds:
		r.start = time.Unix(int64(uint32(number(b))), 0).UTC()
	case flowEndSeconds:
		r.end = time.Unix(int64(uint32(number(b))), 0).UTC()
	case flowStartMilliseconds:
		r.start = time.UnixMilli(int64(number(b))).UTC()
	case flowEndMilliseconds:
		r.end = time.UnixMilli(int64(number(b))).UTC()
	case flowStartMicroseconds, flowStartNanoseconds:
		r.start = ntpTime(number(b))
	case flowEndMicroseconds, flowEndNanoseconds:
		r.end = ntpTime(number(b))
	case systemInitMilliseconds:
		r.init = time.UnixMilli(int64(number(b))).UTC()
	default:
		return false
	}
	return true
}

// ntpTime reads the 64-bit NTP format, RFC 7011 section 6.1.9: seconds since 1900 and their fraction.
func ntpTime(n uint64) time.Time {
	const from1900To1970 = 2_208_988_800
	nanoseconds := (n & 0xffffffff) * 1e9 >> 32
	return time.Unix(int64(n>>32)-from1900To1970, int64(nanoseconds)).UTC()
}

// flow is the record, if it is one: both addresses and a byte count.
func (r *reading) flow() (Flow, bool) {
	f := r.Flow
	f.Record.Bytes, f.Record.Packets = firstNonZero(f.Record.Bytes, r.outBytes), firstNonZero(f.Record.Packets, r.outPackets)
	// A total beside a delta was counted in the deltas of earlier records, also where this one's is zero.
	if !r.hasDelta {
		f.Record.Bytes = firstNonZero(r.totalBytes, r.fromInitiator)
		f.Record.Packets = firstNonZero(f.Record.Packets, r.totalPackets, r.sent)
	}
	f.Record.Start, f.Record.End = r.start, r.end
	f.Relative = r.hasFirst && r.hasLast && (r.start.IsZero() || r.end.IsZero())
	if f.Record.DstPort == 0 && r.icmp != 0 { // as NetFlow v5 and nfdump put it
		f.Record.DstPort = r.icmp
	}
	f.Selector, f.Rate = r.sampling.selector, r.sampling.rate()
	return f, f.Record.Src.IsValid() && f.Record.Dst.IsValid() && f.Record.Bytes > 0
}

func firstNonZero(values ...uint64) uint64 {
	for _, v := range values {
		if v != 0 {
			return v
		}
	}
	return 0
}

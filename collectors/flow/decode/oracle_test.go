package decode

import (
	"math"
	"net/netip"
	"time"

	"github.com/netsampler/goflow2/v2/decoders/netflow"

	"github.com/millrace/millrace/internal/flowrecord"
)

// oracleRecord says slowly and obviously what the fields of one data record mean, as goflow2 gives them.
type oracleRecord struct {
	fields  []netflow.DataField
	reverse bool // reads the reverse direction's elements
	// exported is when the message was.
	exported time.Time
}

func (o oracleRecord) is(f *netflow.DataField, element uint16) bool {
	return f.Type == element && f.PenProvided == o.reverse && (!o.reverse || f.Pen == reversePEN)
}

func (o oracleRecord) bytes(element uint16) (b []byte, found bool) {
	for i := range o.fields {
		if o.is(&o.fields[i], element) {
			b, found = o.fields[i].Value.([]byte), true
		}
	}
	return b, found
}

// number is the value of the one that comes last among elements that mean the same.
func (o oracleRecord) number(elements ...uint16) (n uint64) {
	for i := range o.fields {
		for _, e := range elements {
			if o.is(&o.fields[i], e) {
				n = slowNumber(o.fields[i].Value.([]byte))
			}
		}
	}
	return n
}

func slowNumber(b []byte) (n uint64) {
	if len(b) > 8 {
		return 0
	}
	for _, c := range b {
		n = n<<8 + uint64(c)
	}
	return n
}

func (o oracleRecord) has(element uint16) bool { _, ok := o.bytes(element); return ok }

func (o oracleRecord) addr(elements ...uint16) (a netip.Addr) {
	for i := range o.fields {
		f := &o.fields[i]
		b, _ := f.Value.([]byte)
		for _, e := range elements {
			got, ok := netip.AddrFromSlice(b)
			if o.is(f, e) && ok && (!a.IsValid() || a.IsUnspecified()) {
				a = got.Unmap()
			}
		}
	}
	return a
}

// time reads whichever of the elements comes last.
func (o oracleRecord) time(seconds, milliseconds, microseconds, nanoseconds, delta uint16) (at time.Time) {
	for i := range o.fields {
		one := oracleRecord{fields: o.fields[i : i+1], reverse: o.reverse}
		n := one.number(seconds, milliseconds, microseconds, nanoseconds, delta)
		switch {
		case one.has(delta):
			at = o.exported.Add(-time.Duration(uint32(n)) * time.Microsecond)
		case one.has(seconds):
			at = time.Unix(int64(uint32(n)), 0).UTC()
		case one.has(milliseconds):
			at = time.UnixMilli(int64(n)).UTC()
		case one.has(microseconds), one.has(nanoseconds):
			at = time.Date(1900, 1, 1, 0, 0, int(n>>32), int(uint64(uint32(n))*1e9>>32), time.UTC)
		}
	}
	return at
}

func either(values ...uint64) uint64 {
	for _, v := range values {
		if v != 0 {
			return v
		}
	}
	return 0
}

// flow is the record, whether it is one, and whether it has times of its own.
func (o oracleRecord) flow() (f Flow, ok, timed bool) {
	rec := &f.Record
	rec.Src, rec.Dst = o.addr(sourceIPv4Address, sourceIPv6Address), o.addr(destinationIPv4Address, destinationIPv6Address)
	rec.SrcPort, rec.DstPort = uint16(o.number(sourceTransportPort)), uint16(o.number(destinationTransportPort))
	if rec.DstPort == 0 {
		rec.DstPort = uint16(o.number(icmpTypeCodeIPv4, icmpTypeCodeIPv6))
	}
	rec.Protocol, rec.TOS = uint8(o.number(protocolIdentifier)), uint8(o.number(ipClassOfService))
	rec.TCPFlags = uint16(o.number(tcpControlBits))
	rec.InIf, rec.OutIf = uint32(o.number(ingressInterface)), uint32(o.number(egressInterface))
	f.Record.FlowLabel = uint32(o.number(flowLabelIPv6)) & 0xfffff
	rec.Bytes, rec.Packets = either(o.number(octetDeltaCount), o.number(postOctetDeltaCount)), either(o.number(packetDeltaCount), o.number(postPacketDeltaCount))
	if !o.has(octetDeltaCount) && !o.has(postOctetDeltaCount) {
		rec.Bytes = either(o.number(octetTotalCount), o.number(initiatorOctets))
		rec.Packets = either(rec.Packets, o.number(packetTotalCount), o.number(initiatorPackets))
	}
	rec.Start = o.time(flowStartSeconds, flowStartMilliseconds, flowStartMicroseconds, flowStartNanoseconds, flowStartDelta)
	rec.End = o.time(flowEndSeconds, flowEndMilliseconds, flowEndMicroseconds, flowEndNanoseconds, flowEndDelta)
	f.First, f.Last = uint32(o.number(flowStartSysUpTime)), uint32(o.number(flowEndSysUpTime))
	uptimes := o.has(flowStartSysUpTime) && o.has(flowEndSysUpTime)
	f.Relative = uptimes && (rec.Start.IsZero() || rec.End.IsZero())
	f.Selector, f.Rate = o.number(samplerID, selectorID), o.rate()
	timed = o.has(flowStartSysUpTime) || o.has(flowEndSysUpTime) || !rec.Start.IsZero() || !rec.End.IsZero()
	return f, rec.Src.IsValid() && rec.Dst.IsValid() && rec.Bytes > 0, timed
}

func (o oracleRecord) rate() (n uint64) {
	packets, space, size := o.number(samplingPacketInterval), o.number(samplingPacketSpace), o.number(samplingSize)
	switch interval := o.number(samplingInterval, samplerRandomInterval); {
	case interval > 0:
		n = interval
	case packets > 0 && space < 1<<32:
		n = (packets + space) / packets
	case size > 0:
		n = o.number(samplingPopulation) / size
	default:
		b, _ := o.bytes(samplingProbability)
		p := 0.0
		if len(b) == 4 {
			p = float64(math.Float32frombits(uint32(slowNumber(b))))
		} else if len(b) == 8 {
			p = math.Float64frombits(slowNumber(b))
		}
		if p > 0 && p <= 1 && 1/p <= 1<<32 {
			n = uint64(math.Round(1 / p))
		}
	}
	if n > 1<<32 {
		return 0
	}
	return n
}

// reverseFlow is the other direction of a biflow.
func reverseFlow(o oracleRecord, forward Flow, raw flowrecord.Record) (Flow, bool) {
	back := oracleRecord{fields: o.fields, reverse: true, exported: o.exported}
	f, _, timed := back.flow()
	rec := &f.Record
	icmp := uint16(back.number(icmpTypeCodeIPv4, icmpTypeCodeIPv6))
	rec.Src, rec.Dst, rec.SrcPort, rec.DstPort, rec.Protocol = raw.Dst, raw.Src, raw.DstPort, raw.SrcPort, raw.Protocol
	if rec.DstPort == 0 {
		rec.DstPort = icmp
	}
	if rec.InIf == 0 {
		rec.InIf = raw.OutIf
	}
	if rec.OutIf == 0 {
		rec.OutIf = raw.InIf
	}
	if !timed {
		rec.Start, rec.End, f.First, f.Last, f.Relative = forward.Record.Start, forward.Record.End, forward.First, forward.Last, forward.Relative
	}
	f.Selector, f.Rate = forward.Selector, forward.Rate
	return f, rec.Src.IsValid() && rec.Dst.IsValid() && rec.Bytes > 0
}

func isBiflow(fields []netflow.DataField) bool {
	for _, f := range fields {
		if f.Pen == reversePEN && targets[f.Type] != ignored {
			return true
		}
	}
	return false
}

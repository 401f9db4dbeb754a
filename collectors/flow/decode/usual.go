package decode

import "net/netip"

// usual is how a field of a usual length is read: its target and length in one, so that a field takes one decision and
// not three. What it does is what reading.take does (TestUsualFields).
type usual uint8

const (
	unusual usual = iota
	bytes32
	bytes64
	packets32
	packets64
	protocol8
	tos8
	tcpFlags8
	srcPort16
	dstPort16
	inIf32
	outIf32
	first32
	last32
	startMilliseconds64
	endMilliseconds64
	src4
	dst4
)

var usuals = map[step]usual{
	{to: toBytes, length: 4}:             bytes32,
	{to: toBytes, length: 8}:             bytes64,
	{to: toPackets, length: 4}:           packets32,
	{to: toPackets, length: 8}:           packets64,
	{to: toProtocol, length: 1}:          protocol8,
	{to: toTOS, length: 1}:               tos8,
	{to: toTCPFlags, length: 1}:          tcpFlags8,
	{to: toSrcPort, length: 2}:           srcPort16,
	{to: toDstPort, length: 2}:           dstPort16,
	{to: toInIf, length: 4}:              inIf32,
	{to: toOutIf, length: 4}:             outIf32,
	{to: toFirst, length: 4}:             first32,
	{to: toLast, length: 4}:              last32,
	{to: toStartMilliseconds, length: 8}: startMilliseconds64,
	{to: toEndMilliseconds, length: 8}:   endMilliseconds64,
	{to: toSrc, length: 4}:               src4,
	{to: toDst, length: 4}:               dst4,
}

// readPlain takes the fields of one record, which has the minimum length.
func (t *layout) readPlain(b []byte, r *reading) (length int) {
	f := r.f
	rec := &f.Record
	for i := range t.steps {
		s := &t.steps[i]
		v := b[s.at:][:s.length]
		switch s.usual {
		case bytes32:
			rec.Bytes, r.hasDelta = uint64(be.Uint32(v)), true
		case bytes64:
			rec.Bytes, r.hasDelta = be.Uint64(v), true
		case packets32:
			rec.Packets = uint64(be.Uint32(v))
		case packets64:
			rec.Packets = be.Uint64(v)
		case protocol8:
			rec.Protocol = v[0]
		case tos8:
			rec.TOS = v[0]
		case tcpFlags8:
			rec.TCPFlags = uint16(v[0])
		case srcPort16:
			rec.SrcPort = be.Uint16(v)
		case dstPort16:
			rec.DstPort = be.Uint16(v)
		case inIf32:
			rec.InIf = be.Uint32(v)
		case outIf32:
			rec.OutIf = be.Uint32(v)
		case first32:
			f.First, r.hasFirst = be.Uint32(v), true
		case last32:
			f.Last, r.hasLast = be.Uint32(v), true
		case startMilliseconds64:
			r.start = unixMilli(be.Uint64(v))
		case endMilliseconds64:
			r.end = unixMilli(be.Uint64(v))
		case src4:
			setAddr4(&rec.Src, v)
		case dst4:
			setAddr4(&rec.Dst, v)
		default:
			r.take(s.to, v)
		}
	}
	return t.tail
}

func setAddr4(to *netip.Addr, b []byte) {
	if to.IsValid() {
		setAddr(to, b)
		return
	}
	*to = netip.AddrFrom4([4]byte(b))
}

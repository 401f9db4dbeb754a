package nfcapd

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"
)

// Kinds of records in nfdump's files (src/libnffile/id.h there).
const (
	v3Record = 11 // a flow or an event

	v3HeaderOctets   = 12
	flagEvent        = 1
	elementHeader    = 4
	protocolICMP     = 1
	protocolIPv6ICMP = 58
)

// isOther is true for records of exporters, their statistics and samplers, and for names of applications, interfaces
// and VRFs.
func isOther(kind uint16) bool {
	return kind >= 7 && kind <= 9 || kind >= 12 && kind <= 15
}

// element reads one of a record's elements that matter here (src/libnffile/nfxV3.h there).
type element struct {
	octets int
	read   func(e *entry, body []byte)
}

var elements = [...]element{
	1:  {48, (*entry).generic},
	2:  {8, (*entry).ipv4},
	3:  {32, (*entry).ipv6},
	4:  {8, (*entry).interfaces},
	5:  {24, (*entry).counters},
	12: {4, (*entry).router4},
	13: {16, (*entry).router6},
	33: {12, (*entry).observation},
}

// read takes a record of version 3: a header with flags and the number of elements, and the elements, each with its id
// and length.
func (e *entry) read(kind uint16, record []byte) error {
	if kind != v3Record {
		return fmt.Errorf("a record of type %d, which nfdump 1.7 does not write", kind)
	}
	if len(record) < v3HeaderOctets {
		return fmt.Errorf("a flow record of %d octets", len(record))
	}
	*e = entry{event: record[10]&flagEvent != 0}
	rest := record[v3HeaderOctets:]
	for range binary.LittleEndian.Uint16(record[4:]) {
		length := 0
		if len(rest) >= elementHeader {
			length = int(binary.LittleEndian.Uint16(rest[2:]))
		}
		if length < elementHeader || length > len(rest) {
			return fmt.Errorf("an element of %d octets in a flow record that has %d more", length, len(rest))
		}
		id, body := binary.LittleEndian.Uint16(rest), rest[elementHeader:length]
		rest = rest[length:]
		if int(id) >= len(elements) || elements[id].read == nil {
			continue
		}
		if len(body) < elements[id].octets {
			return fmt.Errorf("element %d has %d octets; want %d", id, len(body), elements[id].octets)
		}
		elements[id].read(e, body)
	}
	return nil
}

func (e *entry) generic(b []byte) {
	e.Start, e.End = milliseconds(b), milliseconds(b[8:])
	e.Packets, e.Bytes = binary.LittleEndian.Uint64(b[24:]), binary.LittleEndian.Uint64(b[32:])
	e.DstPort = binary.LittleEndian.Uint16(b[42:]) // of ICMP: the type and the code, as NetFlow has it
	e.Protocol, e.TOS = b[44], b[47]
	if e.Protocol != protocolICMP && e.Protocol != protocolIPv6ICMP {
		e.SrcPort = binary.LittleEndian.Uint16(b[40:])
		e.TCPFlags = uint16(b[45])
	}
}

// lastMillisecond is that of the year 9999, after which protobuf has no time.
const lastMillisecond = 253402300799999

func milliseconds(b []byte) time.Time {
	return time.UnixMilli(int64(min(binary.LittleEndian.Uint64(b), lastMillisecond))).UTC()
}

func (e *entry) ipv4(b []byte) { e.addresses(address4(b), address4(b[4:])) }

func (e *entry) ipv6(b []byte) { e.addresses(address6(b), address6(b[16:])) }

// addresses keeps the first ones that are not zero: nfcapd writes those of both families where an exporter has both in
// one template.
func (e *entry) addresses(src, dst netip.Addr) {
	if !e.Src.IsValid() || e.Src.IsUnspecified() && e.Dst.IsUnspecified() {
		e.Src, e.Dst = src, dst
	}
}

func (e *entry) interfaces(b []byte) {
	e.InIf, e.OutIf = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
}

func (e *entry) counters(b []byte) {
	e.outPackets, e.outBytes = binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
}

func (e *entry) router4(b []byte) { e.Exporter = address4(b) }

func (e *entry) router6(b []byte) { e.Exporter = address6(b) }

func (e *entry) observation(b []byte) { e.Domain = binary.LittleEndian.Uint32(b[8:]) }

// address4 is a number in the machine's order.
func address4(b []byte) netip.Addr { return netip.AddrFrom4([4]byte{b[3], b[2], b[1], b[0]}) }

// address6 is two numbers in the machine's order, the upper one first.
func address6(b []byte) netip.Addr {
	var a [16]byte
	binary.BigEndian.PutUint64(a[:], binary.LittleEndian.Uint64(b))
	binary.BigEndian.PutUint64(a[8:], binary.LittleEndian.Uint64(b[8:]))
	return netip.AddrFrom16(a).Unmap()
}

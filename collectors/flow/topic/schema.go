package topic

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/flowrecord"
)

// Reasons for which a message is no record; collectors/flow/exporter has those for records.
const (
	ReasonMalformed                = decode.ReasonMalformed // no message of the schema, or a value out of its range
	ReasonNotFlow                  = exporter.ReasonNotFlow // no addresses, no bytes, or not of an IP packet
	ReasonNoExporter decode.Reason = "no_exporter"          // the address of the exporter is missing
	ReasonNoTime     decode.Reason = "no_time"              // neither a start nor an end nor a time of arrival
)

// Schema is how a collector writes a flow record as protobuf: a message of these fields, one in each message of Kafka.
type Schema struct {
	// prefixed: a message may have its length before it, as a varint.
	prefixed bool
	fields   []field
}

// field is one that is read: its name and number in the schema, and what takes its value, of which one is there.
type field struct {
	name   string
	number protowire.Number
	varint func(*message, uint64) bool
	octets func(*message, []byte) bool
}

// message is a record while its fields are read.
type message struct {
	flowrecord.Record
	received           time.Time
	etherType          uint32
	icmpType, icmpCode uint8
}

// schemas are those that are known, by their names.
var schemas = map[string]Schema{"goflow2": goflow2, "akvorado": akvorado}

// Names of the schemas, in order.
func Names() []string { return slices.Sorted(maps.Keys(schemas)) }

// SchemaOf is the schema of a name, with other numbers for some of its fields.
func SchemaOf(name string, numbers map[string]int32) (*Schema, error) {
	s, known := schemas[name]
	if !known {
		return nil, fmt.Errorf("schema %q; want one of %v", name, Names())
	}
	s.fields = slices.Clone(s.fields)
	for name, number := range numbers {
		i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
		if i < 0 || !protowire.Number(number).IsValid() {
			return nil, fmt.Errorf("field %s with number %d; want a field that is read, and its number in the schema", name, number)
		}
		s.fields[i].number = protowire.Number(number)
	}
	byNumber := func(a, b field) int { return cmp.Compare(a.number, b.number) }
	slices.SortFunc(s.fields, byNumber)
	for i := range s.fields[1:] {
		if a, b := s.fields[i], s.fields[i+1]; a.number == b.number {
			return nil, fmt.Errorf("fields %s and %s both have number %d", a.name, b.name, a.number)
		}
	}
	return &s, nil
}

// Decode reads one message of Kafka into a record, but for what the collector alone knows. The reason is empty, or why
// there is none.
func (s *Schema) Decode(b []byte, r *flowrecord.Record) decode.Reason {
	if n, length := protowire.ConsumeVarint(b); s.prefixed && length > 0 && n == uint64(len(b)-length) {
		b = b[length:]
	}
	var m message
	for len(b) > 0 {
		number, kind, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return ReasonMalformed
		}
		length := protowire.ConsumeFieldValue(number, kind, b[tag:])
		if length < 0 || !s.take(&m, number, kind, b[tag:tag+length]) {
			return ReasonMalformed
		}
		b = b[tag+length:]
	}
	reason := m.finish()
	*r = m.Record
	return reason
}

// take reads a field, unless it is another than those that are read.
func (s *Schema) take(m *message, number protowire.Number, kind protowire.Type, value []byte) bool {
	i, known := slices.BinarySearchFunc(s.fields, number, func(f field, n protowire.Number) int { return cmp.Compare(f.number, n) })
	if !known {
		return true
	}
	switch f := s.fields[i]; {
	case f.varint != nil && kind == protowire.VarintType:
		n, _ := protowire.ConsumeVarint(value)
		return f.varint(m, n)
	case f.octets != nil && kind == protowire.BytesType:
		octets, _ := protowire.ConsumeBytes(value)
		return f.octets(m, octets)
	}
	return false
}

const (
	etherTypeIPv4, etherTypeIPv6 = 0x0800, 0x86dd
	protocolICMP, protocolICMPv6 = 1, 58
)

// finish completes the record as collectors/flow/decode does one of a datagram.
func (m *message) finish() decode.Reason {
	m.End = cmp.Or(m.End, m.received, m.Start)
	m.Start = cmp.Or(m.Start, m.End)
	if icmp := m.Protocol == protocolICMP || m.Protocol == protocolICMPv6; icmp && m.DstPort == 0 {
		m.DstPort = uint16(m.icmpType)<<8 | uint16(m.icmpCode)
	}
	switch {
	case !m.Exporter.IsValid() || m.Exporter.IsUnspecified():
		return ReasonNoExporter
	case m.etherType != 0 && m.etherType != etherTypeIPv4 && m.etherType != etherTypeIPv6, !m.Src.IsValid(), !m.Dst.IsValid(), m.Bytes == 0:
		return ReasonNotFlow
	case m.End.IsZero():
		return ReasonNoTime
	}
	return ""
}

// into takes a number that has room in a field of the record.
func into[N uint8 | uint16 | uint32 | uint64](to func(*message) *N) func(*message, uint64) bool {
	return func(m *message, n uint64) bool {
		*to(m) = N(n)
		return uint64(N(n)) == n
	}
}

// flowLabel takes 20 bits; some exporters send the traffic class before them.
func flowLabel(m *message, n uint64) bool {
	m.FlowLabel = uint32(n) & 0xfffff
	return true
}

// address takes one of 4 or 16 octets; none at all is no address.
func address(to func(*message) *netip.Addr) func(*message, []byte) bool {
	return func(m *message, b []byte) bool {
		a, ok := netip.AddrFromSlice(b)
		*to(m) = a.Unmap()
		return ok || len(b) == 0
	}
}

// since1970 takes a time in units since 1970; 0 is none.
func since1970(unit time.Duration, to func(*message) *time.Time) func(*message, uint64) bool {
	const latest = 1 << 33 // seconds: the year 2242, which nanoseconds in 64 bits can say
	return func(m *message, n uint64) bool {
		if perSecond := uint64(time.Second / unit); n > latest*perSecond {
			return false
		}
		*to(m) = time.Time{}
		if n > 0 {
			*to(m) = time.Unix(0, 0).Add(time.Duration(n) * unit).UTC()
		}
		return true
	}
}

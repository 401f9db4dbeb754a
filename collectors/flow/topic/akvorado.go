package topic

import (
	"net/netip"
	"time"
)

// akvorado is the message FlowMessagev<hash> that the Kafka output of Akvorado v2026.8.0 writes (outlet/kafkaoutput of
// github.com/akvorado/akvorado) into topic <name>-<hash>, without a length before it. A field's number is the place of
// its column among all columns of the release: the same whichever of them are enabled, unlike the hash. Columns of
// later releases may move it; GET /api/v0/outlet/kafka-output/schema.proto at the outlet answers with the numbers.
//
// TimeReceived is in whole seconds, and the only time. Interfaces have names there and no indices. Akvorado 1.x wrote
// other numbers; the topic between inlet and outlet of 2.x has datagrams, not records.
var akvorado = Schema{fields: []field{
	{name: "TimeReceived", number: 1, varint: since1970(time.Second, func(m *message) *time.Time { return &m.received })},
	{name: "SamplingRate", number: 2, varint: into(func(m *message) *uint64 { return &m.SamplingRate })},
	{name: "ExporterAddress", number: 3, octets: address(func(m *message) *netip.Addr { return &m.Exporter })},
	{name: "SrcAddr", number: 10, octets: address(func(m *message) *netip.Addr { return &m.Src })},
	{name: "DstAddr", number: 11, octets: address(func(m *message) *netip.Addr { return &m.Dst })},
	{name: "EType", number: 51, varint: into(func(m *message) *uint32 { return &m.etherType })},
	{name: "Proto", number: 52, varint: into(func(m *message) *uint8 { return &m.Protocol })},
	{name: "SrcPort", number: 53, varint: into(func(m *message) *uint16 { return &m.SrcPort })},
	{name: "DstPort", number: 54, varint: into(func(m *message) *uint16 { return &m.DstPort })},
	{name: "Bytes", number: 55, varint: into(func(m *message) *uint64 { return &m.Bytes })},
	{name: "Packets", number: 56, varint: into(func(m *message) *uint64 { return &m.Packets })},
	{name: "IPTos", number: 66, varint: into(func(m *message) *uint8 { return &m.TOS })},
	{name: "IPv6FlowLabel", number: 69, varint: flowLabel},
	{name: "TCPFlags", number: 70, varint: into(func(m *message) *uint16 { return &m.TCPFlags })},
	{name: "ICMPv4Type", number: 71, varint: into(func(m *message) *uint8 { return &m.icmpType })},
	{name: "ICMPv4Code", number: 72, varint: into(func(m *message) *uint8 { return &m.icmpCode })},
	{name: "ICMPv6Type", number: 73, varint: into(func(m *message) *uint8 { return &m.icmpType })},
	{name: "ICMPv6Code", number: 74, varint: into(func(m *message) *uint8 { return &m.icmpCode })},
}}

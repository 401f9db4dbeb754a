package topic

import (
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// goflow2 is flowpb.FlowMessage of goflow2 v2 (pb/flow.proto, github.com/netsampler/goflow2, BSD-3-Clause), as
// `goflow2 -format=bin -transport=kafka` writes it: with its length before it. A program that uses goflow2 as a library
// may leave the length out. What goflow2 v1 wrote is not read.
var goflow2 = Schema{prefixed: true, fields: []field{
	{name: "type", number: 1, varint: goflow2Type},
	{name: "sampling_rate", number: 3, varint: into(func(m *message) *uint64 { return &m.SamplingRate })},
	{name: "src_addr", number: 6, octets: address(func(m *message) *netip.Addr { return &m.Src })},
	{name: "dst_addr", number: 7, octets: address(func(m *message) *netip.Addr { return &m.Dst })},
	{name: "bytes", number: 9, varint: into(func(m *message) *uint64 { return &m.Bytes })},
	{name: "packets", number: 10, varint: into(func(m *message) *uint64 { return &m.Packets })},
	{name: "sampler_address", number: 11, octets: address(func(m *message) *netip.Addr { return &m.Exporter })},
	{name: "in_if", number: 18, varint: into(func(m *message) *uint32 { return &m.InIf })},
	{name: "out_if", number: 19, varint: into(func(m *message) *uint32 { return &m.OutIf })},
	{name: "proto", number: 20, varint: into(func(m *message) *uint8 { return &m.Protocol })},
	{name: "src_port", number: 21, varint: into(func(m *message) *uint16 { return &m.SrcPort })},
	{name: "dst_port", number: 22, varint: into(func(m *message) *uint16 { return &m.DstPort })},
	{name: "ip_tos", number: 23, varint: into(func(m *message) *uint8 { return &m.TOS })},
	{name: "tcp_flags", number: 26, varint: into(func(m *message) *uint16 { return &m.TCPFlags })},
	{name: "etype", number: 30, varint: into(func(m *message) *uint32 { return &m.etherType })},
	{name: "icmp_type", number: 31, varint: into(func(m *message) *uint8 { return &m.icmpType })},
	{name: "icmp_code", number: 32, varint: into(func(m *message) *uint8 { return &m.icmpCode })},
	{name: "ipv6_flow_label", number: 37, varint: flowLabel},
	{name: "observation_domain_id", number: 70, varint: into(func(m *message) *uint32 { return &m.Domain })},
	{name: "time_received_ns", number: 110, varint: since1970(time.Nanosecond, func(m *message) *time.Time { return &m.received })},
	{name: "time_flow_start_ns", number: 111, varint: since1970(time.Nanosecond, func(m *message) *time.Time { return &m.Start })},
	{name: "time_flow_end_ns", number: 112, varint: since1970(time.Nanosecond, func(m *message) *time.Time { return &m.End })},
}}

// goflow2Types are the formats of its enum FlowType; others say nothing.
var goflow2Types = map[uint64]flowrecord.Source{1: flowrecord.SFlow, 2: flowrecord.NetFlowV5, 3: flowrecord.NetFlowV9, 4: flowrecord.IPFIX}

func goflow2Type(m *message, n uint64) bool {
	m.Source = goflow2Types[n]
	return true
}

// Package flowrecord is a flow record inside Millrace.
//
// In: what collectors/flow decodes from NetFlow v5, v9, IPFIX and sFlow v5 or reads from
// nfcapd files. Out: blocks of records as columns, and messages of millrace.flows.v1 read back (DecodeBatch), whichever
// way they were written. Next: services/flowstore, which stores blocks.
package flowrecord

import (
	"net/netip"
	"time"
)

// Record is one flow record as its exporter reported it: counters are not
// multiplied by the sampling rate.
type Record struct {
	// Exporter is the source address of the datagram.
	Exporter netip.Addr
	// Domain is the NetFlow v9 source id, the IPFIX observation domain id, or
	// the v5 engine type and id.
	Domain uint32
	// Start and End are the times of the first and last packet.
	Start, End       time.Time
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	// Protocol is the IANA number.
	Protocol uint8
	// TOS is the IP TOS or traffic class octet.
	TOS      uint8
	TCPFlags uint16
	// InIf and OutIf are SNMP ifIndex, 0 where the exporter does not send them.
	InIf, OutIf    uint32
	Bytes, Packets uint64
	// SamplingRate N means that one packet in N was counted; 1 is unsampled, 0 unknown.
	SamplingRate uint64
	Source       Source
	// FlowLabel is that of IPv6 (RFC 6437), 20 bits; 0 is none.
	FlowLabel uint32
}

// Source is the format a record came in.
type Source uint8

// The values are those of millrace.flow.v1.Source.
const (
	SourceUnspecified Source = iota
	NetFlowV5
	NetFlowV9
	IPFIX
	Nfcapd
	SFlow
)

// String is how operators call the format.
func (s Source) String() string {
	switch s {
	case NetFlowV5:
		return "NetFlow v5"
	case NetFlowV9:
		return "NetFlow v9"
	case IPFIX:
		return "IPFIX"
	case Nfcapd:
		return "nfcapd"
	case SFlow:
		return "sFlow v5"
	}
	return "unspecified"
}

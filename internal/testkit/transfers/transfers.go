// Package transfers are TCP flows of a known size, as an exporter sends them and as a file has them.
//
// In: addresses and octets. Out: NetFlow v5 datagrams and records that mean the same. Next: e2e/processes, e2e/k8s.
package transfers

import (
	"encoding/binary"
	"net/netip"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// Transfer is one TCP flow of 20 s within one minute of the wall clock.
type Transfer struct {
	Src, Dst string
	Bytes    uint32
}

// What all of them have in common.
const (
	Lasted  = 20 * time.Second
	packet  = 1500
	SrcPort = 40000
	DstPort = 5001
	InIf    = 3
)

// V5 is a NetFlow v5 datagram with one record, as the router at the loopback
// sends it: unsampled, counted from boot.
func (t Transfer) V5(boot, start time.Time, sequence uint32) []byte {
	be := binary.BigEndian
	now := time.Now().Truncate(time.Millisecond)
	since := func(at time.Time) uint32 { return uint32(at.Sub(boot).Milliseconds()) }
	b := be.AppendUint16(nil, 5)
	b = be.AppendUint16(b, 1)
	b = be.AppendUint32(b, since(now))
	b = be.AppendUint32(b, uint32(now.Unix()))
	b = be.AppendUint32(b, uint32(now.Nanosecond()))
	b = be.AppendUint32(b, sequence)
	b = be.AppendUint16(b, 0)       // engine
	b = be.AppendUint16(b, 1<<14|1) // one packet in one
	b = append(b, netip.MustParseAddr(t.Src).AsSlice()...)
	b = append(b, netip.MustParseAddr(t.Dst).AsSlice()...)
	b = append(b, 0, 0, 0, 0) // next hop
	b = be.AppendUint16(b, InIf)
	b = be.AppendUint16(b, 4)
	b = be.AppendUint32(b, t.Packets())
	b = be.AppendUint32(b, t.Bytes)
	b = be.AppendUint32(b, since(start))
	b = be.AppendUint32(b, since(start.Add(Lasted)))
	b = be.AppendUint16(b, SrcPort)
	b = be.AppendUint16(b, DstPort)
	b = append(b, 0, 0x1b, 6, 0)               // flags, TCP, TOS
	return append(b, 0, 0, 0, 0, 24, 24, 0, 0) // AS numbers and masks
}

// Packets is how many it had.
func (t Transfer) Packets() uint32 { return t.Bytes/packet + 1 }

// Record is the same as a file reader gives it to Import.
func (t Transfer) Record(exporter netip.Addr, start time.Time) *flowv1.FlowRecord {
	return &flowv1.FlowRecord{
		Exporter: exporter.AsSlice(), Start: timestamppb.New(start), End: timestamppb.New(start.Add(Lasted)),
		SrcAddr: netip.MustParseAddr(t.Src).AsSlice(), DstAddr: netip.MustParseAddr(t.Dst).AsSlice(),
		SrcPort: SrcPort, DstPort: DstPort, Protocol: 6, InIf: InIf,
		Bytes: uint64(t.Bytes), Packets: uint64(t.Packets()), SamplingRate: 1, Source: flowv1.Source_SOURCE_NFCAPD,
	}
}

// Prefix is the /24 around an address, which is what pairs are made of.
func Prefix(addr string) string {
	return netip.PrefixFrom(netip.MustParseAddr(addr), 24).Masked().String()
}

package processes

import (
	"encoding/binary"
	"net/netip"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// transfer is one TCP flow of 20 s within one minute of the wall clock.
type transfer struct {
	src, dst string
	bytes    uint32
}

const (
	lasted  = 20 * time.Second
	packet  = 1500
	srcPort = 40000
	dstPort = 5001
	inIf    = 3
)

// v5 is a NetFlow v5 datagram with one record, as the router at the loopback
// sends it: unsampled, counted from boot.
func (t transfer) v5(boot, start time.Time, sequence uint32) []byte {
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
	b = append(b, netip.MustParseAddr(t.src).AsSlice()...)
	b = append(b, netip.MustParseAddr(t.dst).AsSlice()...)
	b = append(b, 0, 0, 0, 0) // next hop
	b = be.AppendUint16(b, inIf)
	b = be.AppendUint16(b, 4)
	b = be.AppendUint32(b, t.packets())
	b = be.AppendUint32(b, t.bytes)
	b = be.AppendUint32(b, since(start))
	b = be.AppendUint32(b, since(start.Add(lasted)))
	b = be.AppendUint16(b, srcPort)
	b = be.AppendUint16(b, dstPort)
	b = append(b, 0, 0x1b, 6, 0)               // flags, TCP, TOS
	return append(b, 0, 0, 0, 0, 24, 24, 0, 0) // AS numbers and masks
}

func (t transfer) packets() uint32 { return t.bytes/packet + 1 }

// record is the same as a file reader gives it to Import.
func (t transfer) record(exporter netip.Addr, start time.Time) *flowv1.FlowRecord {
	return &flowv1.FlowRecord{
		Exporter: exporter.AsSlice(), Start: timestamppb.New(start), End: timestamppb.New(start.Add(lasted)),
		SrcAddr: netip.MustParseAddr(t.src).AsSlice(), DstAddr: netip.MustParseAddr(t.dst).AsSlice(),
		SrcPort: srcPort, DstPort: dstPort, Protocol: 6, InIf: inIf,
		Bytes: uint64(t.bytes), Packets: uint64(t.packets()), SamplingRate: 1, Source: flowv1.Source_SOURCE_NFCAPD,
	}
}

// prefix is the /24 around an address, which is what pairs are made of.
func prefix(addr string) string {
	return netip.PrefixFrom(netip.MustParseAddr(addr), 24).Masked().String()
}

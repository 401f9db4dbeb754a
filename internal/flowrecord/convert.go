package flowrecord

import (
	"errors"
	"fmt"
	"math"
	"net/netip"

	"google.golang.org/protobuf/types/known/timestamppb"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// ToProto is the record as a message of its own, as imports send it.
func (r *Record) ToProto() *flowv1.FlowRecord {
	return &flowv1.FlowRecord{
		Exporter:          r.Exporter.AsSlice(),
		ObservationDomain: r.Domain,
		Start:             timestamppb.New(r.Start),
		End:               timestamppb.New(r.End),
		SrcAddr:           r.Src.AsSlice(),
		DstAddr:           r.Dst.AsSlice(),
		SrcPort:           uint32(r.SrcPort),
		DstPort:           uint32(r.DstPort),
		Protocol:          uint32(r.Protocol),
		Tos:               uint32(r.TOS),
		TcpFlags:          uint32(r.TCPFlags),
		InIf:              r.InIf,
		OutIf:             r.OutIf,
		Bytes:             r.Bytes,
		Packets:           r.Packets,
		SamplingRate:      r.SamplingRate,
		Source:            flowv1.Source(r.Source),
		FlowLabel:         r.FlowLabel,
	}
}

// Reasons for which FromProto refuses a record.
var (
	ErrAddress = errors.New("an address is neither 4 nor 16 bytes")
	ErrTime    = errors.New("start or end is missing, or the end is before the start")
	ErrRange   = errors.New("a field is larger than its header field on the wire")
)

// FromProto checks a message and makes it a Record.
func FromProto(p *flowv1.FlowRecord) (Record, error) {
	r := Record{
		Domain:       p.GetObservationDomain(),
		SrcPort:      uint16(p.GetSrcPort()),
		DstPort:      uint16(p.GetDstPort()),
		Protocol:     uint8(p.GetProtocol()),
		TOS:          uint8(p.GetTos()),
		TCPFlags:     uint16(p.GetTcpFlags()),
		InIf:         p.GetInIf(),
		OutIf:        p.GetOutIf(),
		Bytes:        p.GetBytes(),
		Packets:      p.GetPackets(),
		SamplingRate: p.GetSamplingRate(),
		Source:       Source(p.GetSource()),
		FlowLabel:    p.GetFlowLabel(),
	}
	if err := errors.Join(addresses(p, &r), times(p, &r), ranges(p)); err != nil {
		return Record{}, fmt.Errorf("flow record: %w", err)
	}
	return r, nil
}

func addresses(p *flowv1.FlowRecord, r *Record) error {
	for _, a := range []struct {
		raw []byte
		to  *netip.Addr
	}{{p.GetExporter(), &r.Exporter}, {p.GetSrcAddr(), &r.Src}, {p.GetDstAddr(), &r.Dst}} {
		addr, ok := netip.AddrFromSlice(a.raw)
		if !ok {
			return ErrAddress
		}
		*a.to = addr.Unmap()
	}
	return nil
}

func times(p *flowv1.FlowRecord, r *Record) error {
	if !p.GetStart().IsValid() || !p.GetEnd().IsValid() {
		return ErrTime
	}
	r.Start, r.End = p.GetStart().AsTime(), p.GetEnd().AsTime()
	if r.End.Before(r.Start) {
		return ErrTime
	}
	return nil
}

// maxFlowLabel is of 20 bits.
const maxFlowLabel = 1<<20 - 1

func ranges(p *flowv1.FlowRecord) error {
	if max(p.GetSrcPort(), p.GetDstPort(), p.GetTcpFlags()) > math.MaxUint16 || max(p.GetProtocol(), p.GetTos()) > math.MaxUint8 ||
		p.GetFlowLabel() > maxFlowLabel {
		return ErrRange
	}
	return nil
}

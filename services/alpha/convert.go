package alpha

import (
	"fmt"
	"net/netip"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/scitags"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/gate"
)

func sumFromProto(m *flowv1.IntervalsResponse) (detect.Sum, error) {
	s := detect.Sum{
		Start: m.GetIntervalStart().AsTime(), Bytes: m.GetBytes(), Packets: m.GetPackets(),
		SamplingRate: m.GetSamplingRate(), LastRecordEnd: m.GetLastRecordEnd().AsTime(),
	}
	var err error
	if s.Exporter, err = parseAddr(m.GetExporter()); err != nil {
		return s, fmt.Errorf("exporter: %w", err)
	}
	s.Flow, err = flowFromProto(m)
	return s, err
}

// fiveTuple is what flowstore's sums and stored evidence have in common.
type fiveTuple interface {
	GetSrcAddr() string
	GetDstAddr() string
	GetSrcPort() uint32
	GetDstPort() uint32
	GetProtocol() uint32
	GetInIf() uint32
}

func flowFromProto(m fiveTuple) (detect.Flow, error) {
	src, err := parseAddr(m.GetSrcAddr())
	if err != nil {
		return detect.Flow{}, fmt.Errorf("source: %w", err)
	}
	dst, err := parseAddr(m.GetDstAddr())
	if err != nil {
		return detect.Flow{}, fmt.Errorf("destination: %w", err)
	}
	return detect.Flow{
		Src: netip.AddrPortFrom(src, uint16(m.GetSrcPort())), Dst: netip.AddrPortFrom(dst, uint16(m.GetDstPort())),
		Protocol: uint8(m.GetProtocol()), InIf: m.GetInIf(),
	}, nil
}

func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	return a.Unmap(), err
}

func pairFromProto(m *alphav1.Pair) (detect.Pair, error) {
	p := detect.Pair{
		FirstSeen: m.GetFirstSeen().AsTime(), LastSeen: m.GetLastSeen().AsTime(), LastAlpha: m.GetLastAlpha().AsTime(),
	}
	var err error
	if p.Key.Exporter, err = parseAddr(m.GetExporter()); err != nil {
		return p, fmt.Errorf("exporter: %w", err)
	}
	if p.Key.Prefixes.Src, err = netip.ParsePrefix(m.GetSrc()); err != nil {
		return p, fmt.Errorf("source: %w", err)
	}
	if p.Key.Prefixes.Dst, err = netip.ParsePrefix(m.GetDst()); err != nil {
		return p, fmt.Errorf("destination: %w", err)
	}
	for _, e := range m.GetEvidence() {
		evidence, err := evidenceFromProto(e)
		if err != nil {
			return p, fmt.Errorf("evidence: %w", err)
		}
		p.Evidence = append(p.Evidence, evidence)
	}
	p.Tags.Sent = m.GetSentBytes()
	for _, t := range m.GetTags() {
		p.Tags.Of = append(p.Tags.Of, tagFromProto(t))
	}
	return p, nil
}

// tagMessage is what flowstore's sums and stored pairs have in common.
type tagMessage interface {
	GetCommunity() uint32
	GetCommunityName() string
	GetActivity() uint32
	GetActivityName() string
	GetBytes() uint64
}

func tagFromProto(m tagMessage) detect.TagBytes {
	return detect.TagBytes{
		Tag:       scitags.Tag{Community: uint16(m.GetCommunity()), Activity: uint8(m.GetActivity())},
		Community: m.GetCommunityName(), Activity: m.GetActivityName(), Bytes: m.GetBytes(),
	}
}

func evidenceFromProto(m *alphav1.Evidence) (detect.Evidence, error) {
	e := detect.Evidence{
		Start: m.GetIntervalStart().AsTime(), Interval: m.GetInterval().AsDuration(),
		Bytes: m.GetBytes(), Packets: m.GetPackets(), MinBytes: m.GetMinBytes(),
		SamplingRate: m.GetSamplingRate(), LastRecordEnd: m.GetLastRecordEnd().AsTime(),
	}
	var err error
	e.Flow, err = flowFromProto(m)
	return e, err
}

func pairToProto(rule detect.Rule, p detect.Pair) *alphav1.Pair {
	m := &alphav1.Pair{
		Id: p.Key.ID(), Exporter: p.Key.Exporter.String(),
		Src: p.Key.Prefixes.Src.String(), Dst: p.Key.Prefixes.Dst.String(),
		FirstSeen: timestamppb.New(p.FirstSeen), LastSeen: timestamppb.New(p.LastSeen),
		LastAlpha: timestamppb.New(p.LastAlpha), AgesOut: timestamppb.New(p.AgesOut(rule)), SentBytes: p.Tags.Sent,
	}
	for _, t := range p.Tags.Of {
		m.Tags = append(m.Tags, &alphav1.PairTag{
			Community: uint32(t.Tag.Community), CommunityName: t.Community, Activity: uint32(t.Tag.Activity), ActivityName: t.Activity, Bytes: t.Bytes,
		})
	}
	for _, e := range p.Evidence {
		m.Evidence = append(m.Evidence, evidenceToProto(e))
	}
	return m
}

func evidenceToProto(e detect.Evidence) *alphav1.Evidence {
	low, high := e.Bounds()
	return &alphav1.Evidence{
		IntervalStart: timestamppb.New(e.Start), Interval: durationpb.New(e.Interval),
		SrcAddr: e.Flow.Src.Addr().String(), DstAddr: e.Flow.Dst.Addr().String(),
		SrcPort: uint32(e.Flow.Src.Port()), DstPort: uint32(e.Flow.Dst.Port()),
		Protocol: uint32(e.Flow.Protocol), InIf: e.Flow.InIf,
		Bytes: e.Bytes, Packets: e.Packets, MinBytes: e.MinBytes,
		SamplingRate: e.SamplingRate, SamplingError: e.SamplingError(), LastRecordEnd: timestamppb.New(e.LastRecordEnd),
		LowBytes: low, HighBytes: high,
	}
}

func pairsToProto(rule detect.Rule, pairs []detect.Pair) []*alphav1.Pair {
	var out []*alphav1.Pair
	for _, p := range pairs {
		out = append(out, pairToProto(rule, p))
	}
	return out
}

// formatOf is a format's name; empty where there is none.
func formatOf(s flowv1.Source) string {
	if s == flowv1.Source_SOURCE_UNSPECIFIED {
		return ""
	}
	return flowrecord.Source(s).String()
}

// hourFromProto: a row of 0.0.0.0 without a format is the collector's own.
func hourFromProto(m *flowv1.HourQuality) (gate.Hour, error) {
	exporter, ok := netip.AddrFromSlice(m.GetExporter())
	if !ok {
		return gate.Hour{}, fmt.Errorf("an address of %d bytes", len(m.GetExporter()))
	}
	h := gate.Hour{Exporter: exporter.Unmap(), Domain: m.GetObservationDomain(), Format: formatOf(m.GetSource()), Start: m.GetHour().AsTime(), Counts: gate.Counts{
		Datagrams: m.GetDatagrams(), Refused: m.GetRefused(), Records: m.GetRecords(), UnknownRate: m.GetUnknownRate(), OutOfRange: m.GetOutOfRange(),
		Received: m.GetReceived(), Lost: m.GetLost(), NoTemplate: m.GetNoTemplate(), SocketDrops: m.GetSocketDrops(),
	}}
	switch {
	case m.GetSource() == flowv1.Source_SOURCE_NFCAPD:
		h.Kind = gate.Imported
	case exporter.IsUnspecified() && m.GetSource() == flowv1.Source_SOURCE_UNSPECIFIED:
		h.Kind = gate.Collector
	}
	return h, nil
}

package decode

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/netsampler/goflow2/v2/decoders/sflow"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// decodeSFlow takes the samples that goflow2 finds; packet headers in them are read by golang.org/x/net.
func decodeSFlow(d []byte, m *oracleMessage) error {
	var p sflow.Packet
	if err := sflow.DecodeMessageVersion(bytes.NewBuffer(d), &p); err != nil {
		return &Refusal{Reason: ReasonMalformed, Err: err}
	}
	for _, s := range p.Samples {
		var f Flow
		switch s := s.(type) {
		case sflow.CounterSample:
			m.CounterSamples++
			continue
		case sflow.FlowSample:
			f.Rate = uint64(s.SamplingRate)
			f.Record.InIf, f.Record.OutIf = sflowIf(s.Input>>30, s.Input&0x3fffffff), sflowIf(s.Output>>30, s.Output&0x3fffffff)
			m.sample(f, s.Records)
		case sflow.ExpandedFlowSample:
			f.Rate = uint64(s.SamplingRate)
			f.Record.InIf, f.Record.OutIf = sflowIf(s.InputIfFormat, s.InputIfValue), sflowIf(s.OutputIfFormat, s.OutputIfValue)
			m.sample(f, s.Records)
		}
	}
	return nil
}

func sflowIf(format, value uint32) uint32 {
	if format != 0 || value == 0x3fffffff || value == 0xffffffff {
		return 0
	}
	return value
}

func (m *oracleMessage) sample(f Flow, records []sflow.FlowRecord) {
	m.Records++
	isFlow := false
	for _, r := range records {
		switch r := r.Data.(type) {
		case sflow.SampledHeader:
			h := r.HeaderData[:min(len(r.HeaderData), int(r.OriginalLength))]
			isFlow = oraclePacket(&f, r.Protocol, h, int64(r.FrameLength)-int64(r.Stripped)) || isFlow
		case sflow.SampledIPv4:
			isFlow = oracleIP(&f, isFlow, r.SampledIPBase, r.Tos)
		case sflow.SampledIPv6:
			isFlow = oracleIP(&f, isFlow, r.SampledIPBase, r.Priority)
		}
	}
	f.Record.Packets = 1
	if isFlow && f.Record.Bytes > 0 {
		m.Flows = append(m.Flows, f)
	} else {
		m.NotFlows++
	}
}

func oracleIP(f *Flow, isFlow bool, s sflow.SampledIPBase, tos uint32) bool {
	if isFlow {
		return true
	}
	rec := &f.Record
	src, _ := netip.AddrFromSlice(s.SrcIP)
	dst, _ := netip.AddrFromSlice(s.DstIP)
	if !rec.Src.IsValid() || rec.Src.IsUnspecified() {
		rec.Src = src.Unmap()
	}
	if !rec.Dst.IsValid() || rec.Dst.IsUnspecified() {
		rec.Dst = dst.Unmap()
	}
	rec.Bytes, rec.Protocol, rec.SrcPort, rec.DstPort = uint64(s.Length), uint8(s.Protocol), uint16(s.SrcPort), uint16(s.DstPort)
	rec.TCPFlags, rec.TOS = uint16(s.TcpFlags), uint8(tos)
	return true
}

func oraclePacket(f *Flow, protocol uint32, b []byte, left int64) bool {
	cut := func(n int) { b, left = b[min(n, len(b)):], left-int64(n) }
	if protocol == 1 {
		cut(12)
		for len(b) >= 4 && (be.Uint16(b) == 0x8100 || be.Uint16(b) == 0x88a8 || be.Uint16(b) == 0x9100) {
			cut(4)
		}
		if len(b) < 2 {
			return false
		}
		kind := be.Uint16(b)
		cut(2)
		protocol = map[uint16]uint32{0x0800: 11, 0x86dd: 11, 0x8847: 13}[kind]
	}
	labelled := protocol == 13
	if labelled {
		for bottom := false; !bottom; cut(4) {
			if len(b) < 4 {
				return false
			}
			bottom = b[2]&1 == 1
		}
		protocol = 11
	}
	if labelled && !oracleFits(b, left) {
		return false
	}
	return (protocol == 11 || protocol == 12) && oracleIPHeader(f, b, left)
}

// oracleFits: what stands behind labels is an IP packet if its lengths can be.
func oracleFits(b []byte, left int64) bool {
	if h, err := ipv6.ParseHeader(b); err == nil && h.Version == 6 {
		return oracleLength(40+uint64(h.PayloadLen), left) == 40+uint64(h.PayloadLen)
	}
	if len(b) < 20 || b[0]>>4 != 4 || b[0]&15 < 5 {
		return false
	}
	total := uint64(binary.BigEndian.Uint16(b[2:]))
	return (total == 0 || total >= 20) && oracleLength(total, left) == total
}

// oracleLength is a length that a header says, unless the frame, with up to 64 octets that the agent left out, is
// shorter.
func oracleLength(says uint64, left int64) uint64 {
	if left > 0 && says > uint64(left)+64 {
		return uint64(left)
	}
	return says
}

func oracleIPHeader(f *Flow, b []byte, left int64) bool {
	rec := &f.Record
	if len(b) > 0 && b[0]>>4 == 6 {
		h, err := ipv6.ParseHeader(b)
		if err != nil {
			return false
		}
		src, _ := netip.AddrFromSlice(h.Src)
		dst, _ := netip.AddrFromSlice(h.Dst)
		rec.Src, rec.Dst, rec.TOS, rec.FlowLabel = src.Unmap(), dst.Unmap(), uint8(h.TrafficClass), uint32(h.FlowLabel)
		if rec.Bytes = oracleLength(40+uint64(h.PayloadLen), left); h.PayloadLen == 0 && left > 40 {
			rec.Bytes = uint64(left)
		}
		rec.Protocol = uint8(h.NextHeader)
		oracleTransport(f, b[40:])
		return true
	}
	if len(b) < 20 || b[0]>>4 != 4 {
		return false
	}
	whole := append([]byte{}, b...)
	whole = append(whole, make([]byte, 60)...) // ParseHeader wants all options
	h, err := ipv4.ParseHeader(whole)
	if err != nil {
		return false
	}
	rec.Src, rec.Dst = netip.AddrFrom4([4]byte(h.Src.To4())), netip.AddrFrom4([4]byte(h.Dst.To4()))
	rec.TOS, rec.Protocol, rec.Bytes = uint8(h.TOS), uint8(h.Protocol), oracleLength(uint64(binary.BigEndian.Uint16(b[2:])), left)
	if rec.Bytes == 0 {
		rec.Bytes = uint64(max(left, 0))
	}
	if h.FragOff == 0 && h.Len >= 20 && h.Len <= len(b) {
		oraclePorts(f, b[h.Len:])
	}
	return true
}

// oracleTransport follows the chain of IPv6 extension headers.
func oracleTransport(f *Flow, b []byte) {
	if len(b) < 8 {
		oraclePorts(f, b)
		return
	}
	lengths := map[uint8]int{0: 8 * (int(b[1]) + 1), 43: 8 * (int(b[1]) + 1), 60: 8 * (int(b[1]) + 1), 44: 8, 51: 4 * (int(b[1]) + 2)}
	n, extension := lengths[f.Record.Protocol]
	if !extension {
		oraclePorts(f, b)
		return
	}
	later := f.Record.Protocol == 44 && be.Uint16(b[2:])>>3 != 0
	if f.Record.Protocol = b[0]; !later && n <= len(b) {
		oracleTransport(f, b[n:])
	}
}

func oraclePorts(f *Flow, b []byte) {
	switch rec := &f.Record; rec.Protocol {
	case 6, 17, 33, 132, 136:
		if len(b) >= 4 {
			rec.SrcPort, rec.DstPort = be.Uint16(b), be.Uint16(b[2:])
		}
		if rec.Protocol == 6 && len(b) >= 14 {
			rec.TCPFlags = be.Uint16(b[12:]) & 0xfff
		}
	case 1, 58:
		if len(b) >= 2 {
			rec.DstPort = be.Uint16(b)
		}
	}
}

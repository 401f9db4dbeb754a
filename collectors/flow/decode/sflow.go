package decode

import (
	"bytes"

	"github.com/millrace/millrace/internal/flowrecord"
)

// sFlow version 5, sflow.org/sflow_version_5.txt: everything is a multiple of four bytes (XDR), and what has a length
// can be left out by it.
const (
	sflowVersion   = 5
	sflowFlow      = 1 // sample formats
	sflowCounters  = 2
	sflowExpanded  = 3
	sflowExpCounts = 4
	sflowRawHeader = 1 // flow data formats
	sflowIPv4      = 3
	sflowIPv6      = 4
)

// parseSFlow reads the header: version, agent, sub-agent id, sequence number, uptime and number of samples.
func parseSFlow(d []byte) (Header, error) {
	h := Header{Source: flowrecord.SFlow}
	if len(d) < 8 {
		return Header{}, &Refusal{Reason: ReasonShort}
	}
	if be.Uint32(d) != sflowVersion {
		return Header{}, &Refusal{Reason: ReasonVersion}
	}
	at := sflowHeader(d)
	switch {
	case at == 0:
		return h, malformed("an agent address that is neither IPv4 nor IPv6")
	case len(d) < at:
		return h, &Refusal{Reason: ReasonShort}
	}
	h.Domain, h.Sequence, h.Uptime = be.Uint32(d[at-16:]), be.Uint32(d[at-12:]), be.Uint32(d[at-8:])
	samples := be.Uint32(d[at-4:])
	if samples == 0 {
		return h, &Refusal{Reason: ReasonEmpty}
	}
	rest, ok := opaques(d[at:], samples, func(uint32, []byte) bool { return true })
	switch {
	case !ok:
		return h, &Refusal{Reason: ReasonTruncated}
	case len(bytes.Trim(rest, "\x00")) > 0:
		return h, &Refusal{Reason: ReasonOversized}
	}
	return h, nil
}

// sflowHeader is how long the header is, by the kind of the agent's address; 0 where that is none.
func sflowHeader(d []byte) int {
	switch be.Uint32(d[4:]) {
	case 1:
		return 28
	case 2:
		return 40
	}
	return 0
}

// opaques calls do with n structures, each behind its format and length, until it returns false. It reports whether all
// of them were there and taken, and returns what stands behind.
func opaques(b []byte, n uint32, do func(format uint32, body []byte) bool) (rest []byte, ok bool) {
	for range n {
		if len(b) < 8 {
			return nil, false
		}
		format, length := be.Uint32(b), be.Uint32(b[4:])
		if b = b[8:]; uint64(length) > uint64(len(b)) || !do(format, b[:length]) {
			return nil, false
		}
		b = b[length:]
	}
	return b, true
}

// sflow reads the samples. Those of other formats, such as vendors' and discarded packets, are left out.
func (m *Message) sflow(d []byte) error {
	at := sflowHeader(d)
	_, ok := opaques(d[at:], be.Uint32(d[at-4:]), func(format uint32, b []byte) bool {
		switch format {
		case sflowFlow, sflowExpanded:
			return m.flowSample(b, format == sflowExpanded)
		case sflowCounters, sflowExpCounts:
			m.CounterSamples++
		}
		return true
	})
	if !ok {
		return malformed("a flow sample is shorter than what it holds")
	}
	return nil
}

// flowSample reads one sampled packet, and makes it a flow of one packet.
func (m *Message) flowSample(b []byte, expanded bool) (ok bool) {
	header := 32 // sequence, source, rate, pool, drops, input, output, number of records
	if expanded {
		header = 44 // the source and both interfaces have two words each
	}
	if len(b) < header {
		return false
	}
	f := Flow{}
	if expanded {
		f.Rate = uint64(be.Uint32(b[12:]))
		f.Record.InIf, f.Record.OutIf = ifIndex(be.Uint32(b[24:]), be.Uint32(b[28:])), ifIndex(be.Uint32(b[32:]), be.Uint32(b[36:]))
	} else {
		f.Rate = uint64(be.Uint32(b[8:]))
		in, out := be.Uint32(b[20:]), be.Uint32(b[24:])
		f.Record.InIf, f.Record.OutIf = ifIndex(in>>30, in<<2>>2), ifIndex(out>>30, out<<2>>2)
	}
	isFlow := false
	_, ok = opaques(b[header:], be.Uint32(b[header-4:]), func(format uint32, body []byte) bool {
		switch format {
		case sflowRawHeader:
			fits, isIP := f.rawHeader(body)
			isFlow = isFlow || isIP
			return fits
		case sflowIPv4, sflowIPv6:
			if isFlow { // the packet's header is there and says more
				return true
			}
			isFlow = f.sampledIP(body, format == sflowIPv6)
			return isFlow
		}
		return true
	})
	m.Records++
	if f.Record.Packets = 1; isFlow && f.Record.Bytes > 0 {
		m.Flows = append(m.Flows, f)
	} else {
		m.NotFlows++
	}
	return ok
}

// ifIndex is 0 where an interface has another format (several, or why the packet was discarded), or is not known.
func ifIndex(format, value uint32) uint32 {
	if const30 := uint32(1<<30 - 1); format != 0 || value == const30 || value == 1<<32-1 {
		return 0
	}
	return value
}

// rawHeader reads a sampled packet header: protocol, length of the frame, bytes stripped of it, and its first bytes.
func (f *Flow) rawHeader(b []byte) (fits, isIP bool) {
	const ethernet, ipv4, ipv6, mpls = 1, 11, 12, 13
	if len(b) < 16 {
		return false, false
	}
	length := be.Uint32(b[12:])
	if uint64(length) > uint64(len(b)-16) {
		return false, false
	}
	p := packet{f: f, b: b[16 : 16+length], left: int64(be.Uint32(b[4:])) - int64(be.Uint32(b[8:]))}
	switch be.Uint32(b) {
	case ethernet:
		return true, p.ethernet()
	case ipv4, ipv6:
		return true, p.ip()
	case mpls:
		return true, p.mpls()
	}
	return true, false
}

// sampledIP reads what some agents send instead of the packet's header.
func (f *Flow) sampledIP(b []byte, v6 bool) (ok bool) {
	size := 4
	if v6 {
		size = 16
	}
	at := 8 + 2*size
	if len(b) < at+16 {
		return false
	}
	rec := &f.Record
	rec.Bytes, rec.Protocol = uint64(be.Uint32(b)), uint8(be.Uint32(b[4:]))
	setAddr(&rec.Src, b[8:8+size])
	setAddr(&rec.Dst, b[8+size:at])
	rec.SrcPort, rec.DstPort = uint16(be.Uint32(b[at:])), uint16(be.Uint32(b[at+4:]))
	rec.TCPFlags, rec.TOS = uint16(be.Uint32(b[at+8:])), uint8(be.Uint32(b[at+12:]))
	return true
}

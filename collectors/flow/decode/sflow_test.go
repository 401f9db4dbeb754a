package decode

import (
	"net/netip"
	"testing"

	"github.com/millrace/millrace/internal/flowrecord"
)

func opaque(format uint32, body ...[]byte) []byte {
	b := join(body...)
	b = append(b, make([]byte, (4-len(b)%4)%4)...)
	return join(u32(format, uint32(len(b))), b)
}

func sflow5(samples ...[]byte) []byte {
	return join(u32(5, 1, 0xc0000201, 16, 77, 10_000, uint32(len(samples))), join(samples...))
}

// flowSample is a compact sample with the first bytes of one packet, of a frame of 1518 bytes, the checksum among them.
func flowSample(rate, in, out uint32, header []byte) []byte {
	return join(u32(1, 2, rate, 1000, 0, in, out, 1), rawHeader(1, header))
}

func rawHeader(protocol uint32, header []byte) []byte {
	return opaque(1, u32(protocol, 1518, 4, uint32(len(header))), header)
}

func ipv4Header(protocol byte, total uint16, payload ...byte) []byte {
	return join([]byte{0x45, 0x20}, u16(total, 0, 0), []byte{64, protocol}, u16(0), u32(0x0a000001, 0x0a000002), payload)
}

func ipv6Header(next byte, payload ...byte) []byte {
	return join(u32(6<<28|0x20<<20|0x12345), u16(1460), []byte{next, 64},
		u32(0x20010db8, 0, 0, 1, 0x20010db8, 0, 0, 2), payload)
}

func frame(kind uint16, rest []byte) []byte { return join(make([]byte, 12), u16(kind), rest) }

var (
	tcp          = join(u16(40000, 443), u32(1, 2), u16(0x5018, 100, 0, 0))
	ethernetIPv4 = frame(0x0800, ipv4Header(6, 1500, tcp...))
)

func TestSFlowPackets(t *testing.T) {
	tcp4 := flowrecord.Record{
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 40000, DstPort: 443, Protocol: 6,
		TOS: 0x20, TCPFlags: 0x18, InIf: 3, OutIf: 4, Bytes: 1500, Packets: 1,
	}
	tcp6 := tcp4
	tcp6.Src, tcp6.Dst = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	tcp6.FlowLabel = 0x12345
	with := func(r flowrecord.Record, change func(*flowrecord.Record)) flowrecord.Record { change(&r); return r }
	noPorts := func(r *flowrecord.Record) { r.SrcPort, r.DstPort, r.TCPFlags = 0, 0, 0 }
	for _, c := range []struct {
		name   string
		sample []byte
		want   flowrecord.Record
	}{
		{"IPv4 on Ethernet", opaque(1, flowSample(512, 3, 4, ethernetIPv4)), tcp4},
		{"behind two VLAN tags", opaque(1, flowSample(512, 3, 4, frame(0x88a8, join(u16(7, 0x8100, 8, 0x0800), ipv4Header(6, 1500, tcp...))))), tcp4},
		{"behind two MPLS labels", opaque(1, flowSample(512, 3, 4, frame(0x8847, join(u32(16<<12|64, 17<<12|1<<8|64), ipv4Header(6, 1500, tcp...))))), tcp4},
		{"IPv6", opaque(1, flowSample(512, 3, 4, frame(0x86dd, ipv6Header(6, tcp...)))), tcp6},
		{"IPv6 with a hop-by-hop header", opaque(1, flowSample(512, 3, 4, frame(0x86dd, ipv6Header(0, append([]byte{6, 0, 5, 2, 0, 0, 1, 0}, tcp...)...)))), tcp6},
		{"a later fragment of IPv6", opaque(1, flowSample(512, 3, 4, frame(0x86dd, ipv6Header(44, append([]byte{6, 0, 0, 8, 0, 0, 0, 1}, tcp...)...)))), with(tcp6, noPorts)},
		{"cut behind the IP header", opaque(1, flowSample(512, 3, 4, ethernetIPv4[:34])), with(tcp4, noPorts)},
		{"a total length of 0, as segmentation offload has it: the frame without its header and checksum",
			opaque(1, flowSample(512, 3, 4, frame(0x0800, ipv4Header(6, 0, tcp...)))), tcp4},
		{"ICMP: type and code as port", opaque(1, flowSample(512, 3, 4, frame(0x0800, ipv4Header(1, 1500, 8, 0)))),
			with(tcp4, func(r *flowrecord.Record) { noPorts(r); r.Protocol, r.DstPort = 1, 0x0800 })},
		{"an expanded sample", opaque(3, u32(1, 0, 2, 512, 1000, 0, 0, 3, 0, 4, 1), rawHeader(1, ethernetIPv4)), tcp4},
		{"a packet that left by several interfaces", opaque(1, flowSample(512, 3, 2<<30|5, ethernetIPv4)), with(tcp4, func(r *flowrecord.Record) { r.OutIf = 0 })},
		{"IPv4 without a frame", opaque(1, u32(1, 2, 512, 0, 0, 3, 4, 1), rawHeader(11, ipv4Header(6, 1500, tcp...))), tcp4},
		{"what an agent says of the packet instead of its header",
			opaque(1, u32(1, 2, 512, 0, 0, 3, 4, 1), opaque(3, u32(1500, 6, 0x0a000001, 0x0a000002, 40000, 443, 0x18, 0x20))), tcp4},
		{"the packet's header beside what the agent says of it",
			opaque(1, u32(1, 2, 512, 0, 0, 3, 4, 2), rawHeader(1, ethernetIPv4), opaque(3, u32(9, 9, 9, 9, 9, 9, 9, 9))), tcp4},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := sflow5(c.sample, opaque(2, u32(1, 2, 0)))
			m := decodeAll(t, d)
			if d := diff(m.Flows, []Flow{{Record: c.want, Rate: 512}}); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
			newPair().agree(t, d)
		})
	}
}

// A length that a header says is believed as far as the frame has room for it.
func TestAPacketIsNoLongerThanItsFrame(t *testing.T) {
	sample := func(length uint32, header []byte) []byte {
		return opaque(1, u32(1, 2, 512, 1000, 0, 3, 4, 1), opaque(1, u32(1, length, 4, uint32(len(header))), header))
	}
	udp := []byte{0, 1, 0, 2, 0, 8, 0, 0}
	long6 := ipv6Header(17, udp...)
	long6[4], long6[5] = 0xff, 0xff
	for _, c := range []struct {
		name   string
		length uint32
		header []byte
		want   uint64
	}{
		{"IPv4 of 65,535 in a frame of 64", 64, frame(0x0800, ipv4Header(17, 65535, udp...)), 64 - 4 - 14},
		{"IPv6 of 65,575 in a frame of 82", 82, frame(0x86dd, long6), 82 - 4 - 14},
		{"an agent that leaves out a VLAN tag", 64, frame(0x8100, join(u16(7, 0x0800), ipv4Header(17, 46, udp...))), 46},
		{"an agent that says no length of the frame", 0, frame(0x0800, ipv4Header(17, 1500, udp...)), 1500},
		{"padding behind a short packet", 64, frame(0x0800, ipv4Header(17, 28, udp...)), 28},
	} {
		m := decodeAll(t, sflow5(sample(c.length, c.header)))
		if len(m.Flows) != 1 || m.Flows[0].Record.Bytes != c.want {
			t.Errorf("%s: %+v, want one flow of %d bytes", c.name, m.Flows, c.want)
		}
	}
}

// Ethernet over MPLS without a control word (RFC 4448 section 4.6): a destination address that begins with 4 or 6 looks
// like the version of IP (RFC 4928).
func TestAPseudowireIsNoFlow(t *testing.T) {
	for _, first := range []byte{0x48, 0x41, 0x60} {
		inner := join([]byte{first, 0x2a, 0xe3, 1, 0xf2, 3, first, 0x2a, 0xe3, 4, 5, 6}, u16(0x0800), ipv4Header(6, 1500, tcp...))
		m := decodeAll(t, sflow5(opaque(1, flowSample(512, 3, 4, frame(0x8847, join(u32(16<<12|1<<8|64), inner))))))
		if len(m.Flows) != 0 || m.NotFlows != 1 {
			t.Errorf("%x: %+v, want one packet that is no flow", first, m)
		}
	}
}

func TestSFlowHeader(t *testing.T) {
	h, err := ParseHeader(sflow5(opaque(2, u32(1, 2, 0))))
	if d := diff(h, Header{Source: flowrecord.SFlow, Domain: 16, Sequence: 77, Uptime: 10_000}); d != "" || err != nil {
		t.Errorf("error %v, header -got +want\n%s", err, d)
	}
}

func TestSFlowSamplesThatAreNoFlows(t *testing.T) {
	arp := frame(0x0806, make([]byte, 28))
	d := sflow5(opaque(1, flowSample(512, 3, 4, arp)), opaque(2, u32(1, 2, 0)), opaque(4, u32(1, 0, 2, 0)), opaque(5, u32(1)))
	m := decodeAll(t, d)
	if len(m.Flows) != 0 || m.NotFlows != 1 || m.CounterSamples != 2 {
		t.Errorf("%+v: want one packet that is no flow and two counter samples", m)
	}
}

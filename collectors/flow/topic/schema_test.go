package topic

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	goflow2pb "github.com/netsampler/goflow2/v2/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/flowrecord"
)

// varint and octets append a field.
func varint(b []byte, number protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), n)
}

func octets(b []byte, number protowire.Number, value ...byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
}

// akvoradoMessage has numbers and forms of the message that Akvorado v2026.8.0 answers for at
// /api/v0/outlet/kafka-output/schema.proto: addresses have 16 octets, and what it enriched is not read.
func akvoradoMessage() (b []byte) {
	mapped := func(last ...byte) []byte { return append([]byte{10: 0xff, 11: 0xff}, last...) }
	b = varint(b, 51, 0x0800)                                                        // EType
	b = varint(b, 52, 6)                                                             // Proto
	b = varint(b, 53, 40000)                                                         // SrcPort
	b = varint(b, 54, 443)                                                           // DstPort
	b = varint(b, 55, 150_000)                                                       // Bytes
	b = varint(b, 56, 100)                                                           // Packets
	b = varint(b, 57, 64)                                                            // ForwardingStatus
	b = varint(b, 58, 1)                                                             // FlowDirection
	b = varint(b, 66, 0x28)                                                          // IPTos
	b = varint(b, 70, 0x18)                                                          // TCPFlags
	b = octets(b, 39, []byte("Gi0/0/0/1")...)                                        // InIfName
	b = octets(octets(b, 4, []byte("edge1")...), 28, 'F', 'R')                       // ExporterName, SrcCountry
	b = varint(varint(varint(b, 34, 64500), 34, 64501), 36, 65536)                   // DstASPath, DstCommunities
	b = varint(varint(b, 1, 1_790_000_000), 2, 30000)                                // TimeReceived, SamplingRate
	b = octets(b, 3, mapped(192, 0, 2, 7)...)                                        // ExporterAddress
	return octets(octets(b, 10, mapped(10, 0, 0, 1)...), 11, mapped(10, 0, 0, 2)...) // SrcAddr, DstAddr
}

func TestAkvorado(t *testing.T) {
	got, reason := decoded(t, "akvorado", akvoradoMessage())
	want := flowrecord.Record{
		Exporter: netip.MustParseAddr("192.0.2.7"), Start: time.Unix(1_790_000_000, 0).UTC(), End: time.Unix(1_790_000_000, 0).UTC(),
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 40000, DstPort: 443, Protocol: 6, TOS: 0x28, TCPFlags: 0x18,
		Bytes: 150_000, Packets: 100, SamplingRate: 30000,
	}
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); d != "" || reason != "" {
		t.Errorf("%s (-want +got):\n%s", reason, d)
	}
}

// TestAkvoradoOfAnotherRelease has two columns more before EType: the numbers as they are known give no record.
func TestAkvoradoOfAnotherRelease(t *testing.T) {
	var later []byte
	for b := akvoradoMessage(); len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		length := protowire.ConsumeFieldValue(number, kind, b[n:])
		if number >= 51 {
			later = protowire.AppendTag(later, number+2, kind)
		} else {
			later = protowire.AppendTag(later, number, kind)
		}
		later, b = append(later, b[n:n+length]...), b[n+length:]
	}
	if r, reason := decoded(t, "akvorado", varint(later, 51, 1)); reason == "" {
		t.Errorf("read as %v", r)
	}
	s, err := SchemaOf("akvorado", map[string]int32{"EType": 53, "Proto": 54, "SrcPort": 55, "DstPort": 56, "Bytes": 57, "Packets": 58, "IPTos": 68, "TCPFlags": 72, "ICMPv4Type": 73, "ICMPv4Code": 74, "ICMPv6Type": 75, "ICMPv6Code": 76})
	if err != nil {
		t.Fatal(err)
	}
	var got flowrecord.Record
	want, _ := decoded(t, "akvorado", akvoradoMessage())
	if reason := s.Decode(later, &got); reason != "" || got != want {
		t.Errorf("%s: %v; want %v", reason, got, want)
	}
}

func TestFieldsThatCannotBe(t *testing.T) {
	for want, numbers := range map[string]map[string]int32{
		"is read":          {"Colour": 3},
		"number 0":         {"bytes": 0},
		"both have number": {"bytes": 10},
	} {
		if _, err := SchemaOf("goflow2", numbers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q in it", numbers, err, want)
		}
	}
	if _, err := SchemaOf("netflow", nil); err == nil || !strings.Contains(err.Error(), "[akvorado goflow2]") {
		t.Errorf("a schema that is none: %v", err)
	}
}

// flow is a message of goflow2 that gives a record.
func flow(change func(*goflow2pb.FlowMessage)) []byte {
	m := &goflow2pb.FlowMessage{
		Type: goflow2pb.FlowMessage_SFLOW_5, SamplerAddress: []byte{192, 0, 2, 7}, SrcAddr: []byte{10, 0, 0, 1}, DstAddr: []byte{10, 0, 0, 2},
		Bytes: 1500, Packets: 1, TimeReceivedNs: 1_790_000_000_123_456_789, Etype: 0x800,
	}
	if change != nil {
		change(m)
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return raw
}

func TestMessagesOfGoflow2(t *testing.T) {
	at := time.Unix(1_790_000_000, 123_456_789).UTC()
	for name, c := range map[string]struct {
		message []byte
		reason  decode.Reason
		is      func(flowrecord.Record) bool
	}{
		"without times it is of its arrival": {flow(nil), "", func(r flowrecord.Record) bool { return r.Start.Equal(at) && r.End.Equal(at) }},
		"with its length before it":          {protowire.AppendBytes(nil, flow(nil)), "", func(r flowrecord.Record) bool { return r.Source == flowrecord.SFlow }},
		"ICMP's type and code are in the port": {
			flow(func(m *goflow2pb.FlowMessage) { m.Proto, m.IcmpType, m.IcmpCode = 1, 3, 4 }), "", func(r flowrecord.Record) bool { return r.DstPort == 3<<8|4 },
		},
		"fields that are not read do no harm": {
			flow(func(m *goflow2pb.FlowMessage) { m.AsPath, m.NextHop, m.SrcMac = []uint32{1, 2}, []byte{1}, 1<<48-1 }), "", func(r flowrecord.Record) bool { return r.Bytes == 1500 },
		},
		"the last of several counts": {varint(flow(nil), 9, 7), "", func(r flowrecord.Record) bool { return r.Bytes == 7 }},
		"nothing":                    {nil, ReasonNoExporter, nil},
		"an exporter that is none":   {flow(func(m *goflow2pb.FlowMessage) { m.SamplerAddress = make([]byte, 4) }), ReasonNoExporter, nil},
		"no time":                    {flow(func(m *goflow2pb.FlowMessage) { m.TimeReceivedNs = 0 }), ReasonNoTime, nil},
		"ARP":                        {flow(func(m *goflow2pb.FlowMessage) { m.Etype = 0x806 }), ReasonNotFlow, nil},
		"no bytes":                   {flow(func(m *goflow2pb.FlowMessage) { m.Bytes = 0 }), ReasonNotFlow, nil},
		"no source":                  {flow(func(m *goflow2pb.FlowMessage) { m.SrcAddr = nil }), ReasonNotFlow, nil},
		"an address of 5 octets":     {flow(func(m *goflow2pb.FlowMessage) { m.DstAddr = make([]byte, 5) }), ReasonMalformed, nil},
		"a port of 17 bits":          {flow(func(m *goflow2pb.FlowMessage) { m.SrcPort = 1 << 16 }), ReasonMalformed, nil},
		"a time that no clock shows": {flow(func(m *goflow2pb.FlowMessage) { m.TimeFlowEndNs = 1<<64 - 1 }), ReasonMalformed, nil},
		"a field of another type":    {octets(flow(nil), 9, 1), ReasonMalformed, nil},
		"cut":                        {flow(nil)[:20], ReasonMalformed, nil},
		"text":                       {[]byte(`{"type":"SFLOW_5"}`), ReasonMalformed, nil},
	} {
		if r, reason := decoded(t, "goflow2", c.message); reason != c.reason || c.is != nil && !c.is(r) {
			t.Errorf("%s: %q, %+v", name, reason, r)
		}
	}
}

// FuzzMessage holds for any message of any schema: no panic, and a record that the bus takes and the flow store stores.
func FuzzMessage(f *testing.F) {
	f.Add(akvoradoMessage())
	f.Add(flow(nil))
	f.Add(protowire.AppendBytes(nil, flow(nil)))
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, name := range Names() {
			r, reason := decoded(t, name, message)
			if reason != "" {
				continue
			}
			var block flowrecord.Block
			block.Append(&r)
			if got := block.Record(0); got.Exporter != r.Exporter || !got.End.Equal(r.End.Truncate(time.Millisecond)) || !r.Src.IsValid() || !r.Dst.IsValid() || r.Bytes == 0 {
				t.Errorf("%s: %+v", name, r)
			}
		}
	})
}

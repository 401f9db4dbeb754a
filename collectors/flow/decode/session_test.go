package decode

import (
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// TestNothingIsAllocatedPerDatagram decodes what an exporter sends all day: data, and its templates and options again.
func TestNothingIsAllocatedPerDatagram(t *testing.T) {
	fixed, biflow := template(256, withAddresses(field{1, 4}, field{22, 4}, field{21, 4}, field{225, 4}, field{70, 3})...), []madeField{
		{8, 4, 0}, {12, 4, 0}, {1, 4, 0}, {1, 4, reversePEN}, {82, variable, 0}, {1, 4, 9},
	}
	all := [][]byte{
		v5(1, 100, 30),
		v9(1, set(0, fixed), set(1, v9Options(257, []field{{1, 4}}, []field{{34, 4}})), set(256, addrData, u32(5, 1, 2, 3), []byte{0, 1, 2}), set(257, u32(0, 100))),
		ipfix(1, madeTemplate(false, 256, nil, biflow), set(256, addrData, u32(5, 6), []byte{2, 'a', 'b'}, u32(7))),
		sflow5(opaque(1, flowSample(512, 3, 4, ethernetIPv4)), opaque(2, u32(1, 2, 0))),
	}
	var templates Templates
	var m Message
	flows := 0
	once := func() {
		m.Reset()
		for _, d := range all {
			h, err := ParseHeader(d)
			if err == nil {
				err = Decode(d, h, &templates, &m)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		flows = len(m.Flows)
	}
	if n := testing.AllocsPerRun(100, once); n != 0 || flows != 30+1+2+1 {
		t.Errorf("%v allocations for %d flows", n, flows)
	}
}

// TestSamplingOfVendors: what the options data of each says, of one packet in 1000 by sampler or selector 7.
func TestSamplingOfVendors(t *testing.T) {
	for _, c := range []struct {
		name string
		d    []byte
		want Sampling
	}{
		{"Cisco IOS XR, NetFlow v9: FLOW_SAMPLER_ID, mode and random interval in scope System",
			v9(1, set(1, v9Options(257, []field{{1, 4}}, []field{{48, 2}, {84, 8}, {49, 1}, {50, 4}})), set(257, u32(0), u16(7), []byte("sampler\x00"), []byte{2}, u32(1000))),
			Sampling{Selector: 7, Rate: 1000}},
		{"Cisco IOS XE, Flexible NetFlow: selectorId as scope, size and population",
			ipfix(1, set(3, ipfixOptions(257, []field{{302, 4}}, []field{{335, 8}, {304, 2}, {309, 4}, {310, 4}})), set(257, u32(7), []byte("SAMPLER\x00"), u16(3), u32(1, 1000))),
			Sampling{Selector: 7, Rate: 1000}},
		{"Juniper MX inline, IPFIX: samplingInterval of the exporting process",
			ipfix(1, set(3, ipfixOptions(512, []field{{144, 4}}, []field{{41, 8}, {42, 8}, {160, 8}, {34, 4}, {36, 2}, {37, 2}})),
				set(512, u32(1, 0, 9, 0, 9, 0, 1000), u32(1000), u16(60, 60))), Sampling{Rate: 1000}},
		{"Nokia SR OS, IPFIX: interval and space of packets per selector",
			ipfix(1, set(3, ipfixOptions(300, []field{{302, 8}}, []field{{304, 2}, {305, 4}, {306, 4}})), set(300, u32(0, 7), u16(1), u32(1, 999))),
			Sampling{Selector: 7, Rate: 1000}},
		{"Huawei, NetFlow v9: interval and algorithm, per interface in the scope",
			v9(1, set(1, v9Options(258, []field{{2, 4}}, []field{{34, 4}, {35, 1}})), set(258, u32(7), u32(1000), []byte{2})),
			Sampling{Interface: 7, Rate: 1000}},
		{"a probability (PSAMP)", ipfix(1, set(3, ipfixOptions(300, []field{{302, 2}}, []field{{311, 4}})), set(300, u16(7), u32(0x3a83126f))),
			Sampling{Selector: 7, Rate: 1000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := diff(decodeAll(t, c.d).Sampling, []Sampling{c.want}); d != "" {
				t.Errorf("-got +want\n%s", d)
			}
			newPair().agree(t, c.d)
		})
	}
}

// TestBiflow: a record of both directions (RFC 5103) is two flows, each with counters of its own.
func TestBiflow(t *testing.T) {
	fields := []madeField{{8, 4, 0}, {12, 4, 0}, {7, 2, 0}, {11, 2, 0}, {4, 1, 0}, {10, 2, 0}, {14, 2, 0}, {152, 8, 0}, {153, 8, 0},
		{1, 4, 0}, {1, 4, reversePEN}, {2, 4, 0}, {2, 4, reversePEN}, {6, 1, reversePEN}}
	record := func(there, back uint32) []byte {
		return join(addrData, u16(40000, 443), []byte{6}, u16(3, 4), u32(0, 100, 0, 200), u32(there, back, 5, 6), []byte{0x1b})
	}
	forward := flowrecord.Record{
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 40000, DstPort: 443, Protocol: 6, InIf: 3, OutIf: 4,
		Start: time.UnixMilli(100).UTC(), End: time.UnixMilli(200).UTC(), Bytes: 1000, Packets: 5,
	}
	back := forward
	back.Src, back.Dst, back.SrcPort, back.DstPort, back.InIf, back.OutIf = forward.Dst, forward.Src, 443, 40000, 4, 3
	back.Bytes, back.Packets, back.TCPFlags = 2000, 6, 0x1b
	for _, c := range []struct {
		name        string
		there, back uint32
		want        []Flow
		notFlows    int
	}{
		{"both directions", 1000, 2000, []Flow{{Record: forward}, {Record: back}}, 0},
		{"only the reverse direction sent", 0, 2000, []Flow{{Record: back}}, 0},
		{"no direction sent", 0, 0, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := decodeAll(t, ipfix(1, madeTemplate(false, 256, nil, fields), set(256, record(c.there, c.back))))
			if d := diff(m.Flows, c.want); d != "" || m.NotFlows != c.notFlows || m.Records != 1 {
				t.Errorf("%d records, %d no flows; -got +want\n%s", m.Records, m.NotFlows, d)
			}
		})
	}
}

// TestEventsAreCountedApart: NAT and firewall events (RFC 8158, Cisco NSEL) carry no bytes.
func TestEventsAreCountedApart(t *testing.T) {
	m := decodeAll(t, ipfix(1, set(2, template(256, withAddresses(field{230, 1})...), template(257, withAddresses(field{4, 1})...)),
		set(256, addrData, []byte{4}, addrData, []byte{5}), set(257, addrData, []byte{6})))
	if m.NotFlows != 3 || m.Events != 2 || m.Records != 3 {
		t.Errorf("%+v: want three records that are no flows, two of them events", m)
	}
}

// TestListsInRecordsAreSkipped: structured data (RFC 6313) has a length like any field.
func TestListsInRecordsAreSkipped(t *testing.T) {
	d := ipfix(1, set(2, template(256, field{291, variable}, field{8, 4}, field{292, variable}, field{12, 4}, field{293, 5}, field{1, 4})),
		set(256, []byte{3, 1, 2, 3}, u32(0x0a000001), []byte{255, 0, 4, 1, 2, 3, 4}, u32(0x0a000002), make([]byte, 5), u32(77)))
	if m := decodeAll(t, d); len(m.Flows) != 1 || m.Flows[0].Record.Bytes != 77 || m.Flows[0].Record.Dst != netip.MustParseAddr("10.0.0.2") {
		t.Errorf("%+v: want one flow of 77 bytes to 10.0.0.2", m.Flows)
	}
}

// TestATemplateThatIsSentAgain is the same one where its definition is, and another where it is not.
func TestATemplateThatIsSentAgain(t *testing.T) {
	var templates Templates
	var m Message
	take := func(d []byte) {
		h, err := ParseHeader(d)
		if err == nil {
			err = Decode(d, h, &templates, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	key := templateKey{flowrecord.NetFlowV9, 7, 256}
	take(v9(1, set(0, template(256, withAddresses(field{1, 4})...))))
	first := templates.known[key].template
	take(v9(2, set(0, template(256, withAddresses(field{1, 4})...))))
	if templates.known[key].template != first {
		t.Error("the same definition was compiled again")
	}
	for _, other := range [][]byte{template(256, withAddresses(field{2, 4})...), template(256, withAddresses(field{1, 4}, field{0, 0})...)} {
		take(v9(3, set(0, other)))
		if templates.known[key].template == first {
			t.Errorf("the definition %x was not taken", other)
		}
	}
}

func BenchmarkRecords(b *testing.B) {
	fields := []field{{8, 4}, {12, 4}, {15, 4}, {10, 2}, {14, 2}, {2, 4}, {1, 4}, {22, 4}, {21, 4}, {7, 2}, {11, 2}, {6, 1}, {4, 1}, {5, 1}, {16, 2}, {17, 2}, {9, 1}, {13, 1}}
	const records = 24
	data := make([]byte, 45*records)
	for i := range data {
		data[i] = byte(i*7 + 1)
	}
	d := v9(1, set(256, data))
	var templates Templates
	var m Message
	for _, d := range [][]byte{v9(1, set(0, template(256, fields...))), d} {
		h, _ := ParseHeader(d) //nolint:errcheck
		if err := Decode(d, h, &templates, &m); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		m.Reset()
		h, _ := ParseHeader(d) //nolint:errcheck
		if err := Decode(d, h, &templates, &m); err != nil || len(m.Flows) != records {
			b.Fatal(err, len(m.Flows))
		}
	}
	b.ReportMetric(float64(b.N*records)/b.Elapsed().Seconds(), "flows/s")
}

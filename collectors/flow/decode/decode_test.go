package decode

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/flowrecord"
)

// decodeAll decodes datagrams of one session and joins their messages.
func decodeAll(t *testing.T, datagrams ...[]byte) Message {
	t.Helper()
	var templates Templates
	var all Message
	for i, d := range datagrams {
		h, err := ParseHeader(d)
		if err != nil {
			t.Fatalf("header of datagram %d: %v", i, err)
		}
		var m Message
		if err := Decode(d, h, &templates, &m); err != nil {
			t.Fatalf("datagram %d: %v", i, err)
		}
		all.Flows = append(all.Flows, m.Flows...)
		all.Sampling = append(all.Sampling, m.Sampling...)
		all.OptionRecords += m.OptionRecords
		all.NoTemplate += m.NoTemplate
		all.NotFlows += m.NotFlows
		all.BadTemplates += m.BadTemplates
		all.Withdrawals += m.Withdrawals
		all.Records += m.Records
		all.Events += m.Events
		all.CounterSamples += m.CounterSamples
		if !m.SystemInit.IsZero() {
			all.SystemInit = m.SystemInit
		}
	}
	return all
}

func diff(got, want any) string {
	return cmp.Diff(got, want, cmpopts.EquateComparable(netip.Addr{}))
}

// TestSoftflowdCaptures holds the flows and bytes that nfcapd 1.7.1 and nfdump find
// in the same datagrams (sampling taken out, where nfcapd multiplies).
func TestSoftflowdCaptures(t *testing.T) {
	for _, c := range []struct {
		name     string
		flows    int
		bytes    uint64
		sampling []Sampling
		options  int
	}{
		{"5-s1", 6, 4204065, nil, 0},
		{"5-s100", 1, 65212, nil, 0},
		{"9-s1", 20, 4466620, []Sampling{{Rate: 1}}, 1},
		{"9-s100", 5, 67254, []Sampling{{Rate: 100}}, 1},
		{"9-live", 10, 19894446, []Sampling{{Interface: 7, Rate: 1}}, 1},
		{"10-s1", 20, 4466620, []Sampling{{Rate: 1}}, 1},
		{"10-s100", 5, 67254, []Sampling{{Rate: 100}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := decodeAll(t, capture(t, c.name)...)
			var bytes uint64
			for _, f := range m.Flows {
				bytes += f.Record.Bytes
			}
			if len(m.Flows) != c.flows || bytes != c.bytes {
				t.Errorf("%d flows of %d bytes, want %d of %d", len(m.Flows), bytes, c.flows, c.bytes)
			}
			if d := diff(m.Sampling, c.sampling); d != "" {
				t.Errorf("sampling -got +want\n%s", d)
			}
			if m.OptionRecords != c.options || m.NoTemplate+m.NotFlows+m.BadTemplates != 0 {
				t.Errorf("%+v: want %d option records and nothing dropped", m, c.options)
			}
		})
	}
}

func TestFlowsBehindTemplatesAreNotLostInV9(t *testing.T) {
	// softflowd's header counts one record in this datagram of seven sets.
	m := decodeAll(t, capture(t, "9-live")[0])
	if len(m.Flows) != 1 {
		t.Errorf("%d flows, want 1", len(m.Flows))
	}
}

func TestNetFlowV5(t *testing.T) {
	d := v5(77, 0x4064, 2)
	h, err := ParseHeader(d)
	if err != nil {
		t.Fatal(err)
	}
	want := Header{
		Source: flowrecord.NetFlowV5, Domain: 0x0102, Sequence: 77, ExportTime: time.Unix(exportSeconds, 5_000_000).UTC(),
		Uptime: 10_000, Count: 2, SamplingRate: 100,
	}
	if d := diff(h, want); d != "" {
		t.Errorf("header -got +want\n%s", d)
	}
	got := decodeAll(t, d).Flows[1]
	wantFlow := Flow{Relative: true, First: 8_000, Last: 9_000, Record: flowrecord.Record{
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 40000, DstPort: 443,
		Protocol: 6, TOS: 0x20, TCPFlags: 0x1b, InIf: 3, OutIf: 4, Bytes: 1501, Packets: 10,
	}}
	if d := diff(got, wantFlow); d != "" {
		t.Errorf("second record -got +want\n%s", d)
	}
}

var (
	addresses = []field{{8, 4}, {12, 4}}
	addrData  = u32(0x0a000001, 0x0a000002)
)

func withAddresses(fields ...field) []field { return append(addresses[:2:2], fields...) }

// TestFields checks each way in which an exporter may say something.
func TestFields(t *testing.T) {
	flowOf := func(f Flow) Flow {
		f.Record.Src, f.Record.Dst = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
		return f
	}
	ms := func(n int64) time.Time { return time.UnixMilli(n).UTC() }
	for _, c := range []struct {
		name   string
		fields []field
		data   []byte
		want   Flow
	}{
		{"counters of eight bytes", []field{{1, 8}, {2, 8}}, join(u32(1, 0), u32(0, 9)), Flow{Record: flowrecord.Record{Bytes: 1 << 32, Packets: 9}}},
		{"counters of three bytes", []field{{1, 3}}, []byte{1, 0, 0}, Flow{Record: flowrecord.Record{Bytes: 65536}}},
		{"total instead of delta counters", []field{{85, 4}, {86, 4}}, u32(5, 6), Flow{Record: flowrecord.Record{Bytes: 5, Packets: 6}}},
		{"egress instead of ingress counters", []field{{23, 4}, {24, 4}}, u32(5, 6), Flow{Record: flowrecord.Record{Bytes: 5, Packets: 6}}},
		{"delta before total", []field{{85, 4}, {1, 4}}, u32(5, 7), Flow{Record: flowrecord.Record{Bytes: 7}}},
		{"bytes and packets of the initiator", []field{{231, 4}, {232, 4}, {298, 4}, {299, 4}}, u32(5, 7, 2, 3), Flow{Record: flowrecord.Record{Bytes: 5, Packets: 2}}},
		{"egress beside ingress of nothing", []field{{1, 4}, {2, 4}, {23, 4}, {24, 4}}, u32(0, 0, 5, 6), Flow{Record: flowrecord.Record{Bytes: 5, Packets: 6}}},
		{"uptimes", []field{{1, 4}, {22, 4}, {21, 4}}, u32(5, 100, 200), Flow{Relative: true, First: 100, Last: 200, Record: flowrecord.Record{Bytes: 5}}},
		{"seconds", []field{{1, 4}, {150, 4}, {151, 4}}, u32(5, 100, 200), Flow{Record: flowrecord.Record{Bytes: 5, Start: ms(100_000), End: ms(200_000)}}},
		{"milliseconds", []field{{1, 4}, {152, 8}, {153, 8}}, u32(5, 0, 100, 0, 200), Flow{Record: flowrecord.Record{Bytes: 5, Start: ms(100), End: ms(200)}}},
		{"microseconds in NTP format", []field{{1, 4}, {154, 8}, {155, 8}}, u32(5, 2_208_988_801, 1<<31, 2_208_988_802, 0),
			Flow{Record: flowrecord.Record{Bytes: 5, Start: ms(1500), End: ms(2000)}}},
		{"nanoseconds in NTP format", []field{{1, 4}, {156, 8}, {157, 8}}, u32(5, 2_208_988_801, 1<<30, 2_208_988_802, 0),
			Flow{Record: flowrecord.Record{Bytes: 5, Start: ms(1250), End: ms(2000)}}},
		{"absolute before relative", []field{{1, 4}, {152, 8}, {153, 8}, {22, 4}, {21, 4}}, u32(5, 0, 100, 0, 200, 1, 2),
			Flow{First: 1, Last: 2, Record: flowrecord.Record{Bytes: 5, Start: ms(100), End: ms(200)}}},
		{"the flow label, of 20 bits", []field{{1, 4}, {31, 4}}, u32(5, 0xfff12345), Flow{Record: flowrecord.Record{Bytes: 5, FlowLabel: 0x12345}}},
		{"interfaces of two bytes", []field{{1, 4}, {10, 2}, {14, 2}}, join(u32(5), u16(3, 4)), Flow{Record: flowrecord.Record{Bytes: 5, InIf: 3, OutIf: 4}}},
		{"TCP flags of two bytes", []field{{1, 4}, {6, 2}}, join(u32(5), u16(0x11b)), Flow{Record: flowrecord.Record{Bytes: 5, TCPFlags: 0x11b}}},
		{"ICMP type and code as port", []field{{1, 4}, {4, 1}, {32, 2}}, join(u32(5), []byte{1}, u16(0x0800)), Flow{Record: flowrecord.Record{Bytes: 5, Protocol: 1, DstPort: 2048}}},
		{"the sampler's id", []field{{1, 4}, {48, 1}}, join(u32(5), []byte{3}), Flow{Selector: 3, Record: flowrecord.Record{Bytes: 5}}},
		{"a rate in the record", []field{{1, 4}, {34, 4}}, u32(5, 512), Flow{Rate: 512, Record: flowrecord.Record{Bytes: 5}}},
		{"a number of nine bytes is not read", []field{{1, 4}, {2, 9}}, join(u32(5), make([]byte, 8), []byte{1}), Flow{Record: flowrecord.Record{Bytes: 5}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := set(256, addrData, c.data)
			for version, d := range map[string][]byte{
				"v9":    v9(1, set(0, template(256, withAddresses(c.fields...)...)), data),
				"ipfix": ipfix(1, set(2, template(256, withAddresses(c.fields...)...)), data),
			} {
				m := decodeAll(t, d)
				if d := diff(m.Flows, []Flow{flowOf(c.want)}); d != "" {
					t.Errorf("%s: -got +want\n%s", version, d)
				}
			}
		})
	}
}

func TestSamplingOptions(t *testing.T) {
	for _, c := range []struct {
		name            string
		scopes, options []field
		data            []byte
		want            []Sampling
	}{
		{"interval", []field{{1, 4}}, []field{{34, 4}, {35, 1}}, join(u32(0, 100), []byte{2}), []Sampling{{Rate: 100}}},
		{"a v9 sampler", []field{{1, 4}}, []field{{48, 1}, {49, 1}, {50, 4}}, join(u32(0), []byte{9, 2}, u32(1000)), []Sampling{{Selector: 9, Rate: 1000}}},
		{"an interface in the scope", []field{{2, 4}}, []field{{34, 4}}, u32(5, 64), []Sampling{{Interface: 5, Rate: 64}}},
		{"an output interface", []field{{1, 4}}, []field{{14, 4}, {34, 4}}, u32(0, 6, 64), []Sampling{{Interface: 6, Rate: 64}}},
		{"an input interface goes first", []field{{1, 4}}, []field{{14, 4}, {10, 4}, {34, 4}}, u32(0, 6, 5, 64), []Sampling{{Interface: 5, Rate: 64}}},
		{"an IPFIX selector, one and 99 skipped", []field{{302, 8}}, []field{{304, 2}, {305, 4}, {306, 4}},
			join(u32(0, 4), u16(1), u32(1, 99)), []Sampling{{Selector: 4, Rate: 100}}},
		{"n out of N", []field{{302, 8}}, []field{{309, 4}, {310, 4}}, u32(0, 4, 2, 2000), []Sampling{{Selector: 4, Rate: 1000}}},
		{"a rate beyond all reason", []field{{1, 4}}, []field{{34, 8}}, u32(0, 1<<31, 0), nil},
		{"nothing of sampling", []field{{1, 4}}, []field{{41, 4}}, u32(0, 100), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for version, d := range map[string][]byte{
				"v9":    v9(1, set(1, v9Options(256, c.scopes, c.options)), set(256, c.data)),
				"ipfix": ipfix(1, set(3, ipfixOptions(256, c.scopes, c.options)), set(256, c.data)),
			} {
				m := decodeAll(t, d)
				if version == "ipfix" && c.scopes[0].element == scopeInterface {
					continue // a v9 scope type
				}
				if d := diff(m.Sampling, c.want); d != "" {
					t.Errorf("%s: -got +want\n%s", version, d)
				}
				if m.OptionRecords != 1 {
					t.Errorf("%s: %d option records, want 1", version, m.OptionRecords)
				}
			}
		})
	}
}

func TestDataBeforeItsTemplateIsCounted(t *testing.T) {
	m := decodeAll(t, v9(1, set(256, addrData), set(257, addrData)))
	if m.NoTemplate != 2 || len(m.Flows) != 0 {
		t.Errorf("%+v: want two sets without template", m)
	}
}

func TestRecordsThatAreNoFlowsAreCounted(t *testing.T) {
	m := decodeAll(t, v9(1, set(0, template(256, field{8, 4}, field{1, 4})), set(256, u32(1, 2, 3, 4))))
	if m.NotFlows != 2 || len(m.Flows) != 0 {
		t.Errorf("%+v: want two records that are no flows", m)
	}
}

// TestATotalBesideADeltaCountsOnce: a report of an idle connection has a delta of zero and the same total as before.
func TestATotalBesideADeltaCountsOnce(t *testing.T) {
	tmpl := set(2, template(256, withAddresses(field{1, 4}, field{85, 4})...))
	m := decodeAll(t, ipfix(1, tmpl, set(256, addrData, u32(400, 400))), ipfix(2, set(256, addrData, u32(0, 400))), ipfix(3, set(256, addrData, u32(0, 400))))
	if len(m.Flows) != 1 || m.Flows[0].Record.Bytes != 400 || m.NotFlows != 2 {
		t.Errorf("%+v: want one flow of 400 bytes and two records that are none", m)
	}
}

func TestTemplatesOfDomainsAreApart(t *testing.T) {
	d := v9(1, set(0, template(256, withAddresses(field{1, 4})...)))
	other := v9(2, set(256, addrData, u32(5)))
	copy(other[16:], u32(8)) // another source id
	if m := decodeAll(t, d, other); m.NoTemplate != 1 {
		t.Errorf("%+v: a template of domain 7 was used in domain 8", m)
	}
}

func TestHostileTemplatesAreRefused(t *testing.T) {
	many := make([]field, MaxFields+1)
	for i := range many {
		many[i] = field{1, 1}
	}
	for _, c := range []struct {
		name     string
		template []byte
	}{
		{"records of no length", template(256, field{8, 0}, field{12, 0})},
		{"more fields than any exporter has", template(256, many...)},
		{"an id below 256", template(255, field{8, 4})},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m := decodeAll(t, v9(1, set(0, c.template))); m.BadTemplates != 1 {
				t.Errorf("%+v: want one refused template", m)
			}
		})
	}
}

// TestZerosBehindTheLastSet: a datagram may be filled up with them, by any number.
func TestZerosBehindTheLastSet(t *testing.T) {
	good := v9(1, set(0, template(256, withAddresses(field{1, 4})...)), set(256, addrData, u32(5)))
	for n := range 70 {
		if m := decodeAll(t, join(good, make([]byte, n))); len(m.Flows) != 1 || m.NoTemplate+m.BadTemplates != 0 {
			t.Errorf("%d zeros: %+v, want one flow", n, m)
		}
	}
}

func TestFieldsOfNoLengthSayNothing(t *testing.T) {
	d := v9(1, set(0, template(256, withAddresses(field{0, 0}, field{1, 4}, field{0, 0})...)), set(256, addrData, u32(5), addrData, u32(6)))
	m := decodeAll(t, d)
	if len(m.Flows) != 2 || m.Flows[1].Record.Bytes != 6 {
		t.Errorf("%+v: want two flows, the second of 6 bytes", m)
	}
	m = decodeAll(t, v9(1, set(1, v9Options(256, []field{{1, 0}}, []field{{35, 1}, {34, 4}})), set(256, []byte{2}, u32(100))))
	if d := diff(m.Sampling, []Sampling{{Rate: 100}}); d != "" {
		t.Errorf("a scope of no length: sampling -got +want\n%s", d)
	}
}

func TestTemplatesAreBounded(t *testing.T) {
	var templates Templates
	for id := range MaxTemplates + 50 {
		d := v9(uint32(id), set(0, template(uint16(256+id), withAddresses(field{1, 4})...)))
		h, err := ParseHeader(d)
		if err != nil {
			t.Fatal(err)
		}
		var m Message
		if err := Decode(d, h, &templates, &m); err != nil {
			t.Fatal(err)
		}
		if refused := id >= MaxTemplates; (m.BadTemplates == 1) != refused {
			t.Fatalf("template %d: refused %d, want %v", id, m.BadTemplates, refused)
		}
	}
	if templates.Len() != MaxTemplates {
		t.Errorf("%d templates kept, want %d", templates.Len(), MaxTemplates)
	}
}

// TestWithdrawalsOverUDPAreIgnored: "Template Withdrawals [...] MUST be ignored by Collecting Processes collecting via
// UDP" (RFC 7011 section 8.4). NetFlow v9 has none: a template without fields is a bad one, and replaces none.
func TestWithdrawalsOverUDPAreIgnored(t *testing.T) {
	tmpl, data := template(256, withAddresses(field{1, 4})...), set(256, addrData, u32(5))
	options, said := ipfixOptions(300, []field{{302, 8}}, []field{{34, 4}}), set(300, u32(0, 7, 100))
	v9Said := v9(1, set(1, v9Options(300, []field{{1, 4}}, []field{{34, 4}})))
	for _, c := range []struct {
		name           string
		sent           [][]byte
		withdrawn, bad int
	}{
		{"one template", [][]byte{ipfix(1, set(2, tmpl)), ipfix(2, set(2, u16(256, 0))), ipfix(3, data)}, 1, 0},
		{"all templates", [][]byte{ipfix(1, set(2, tmpl)), ipfix(2, set(2, u16(2, 0)), data)}, 1, 0},
		{"one options template", [][]byte{ipfix(1, set(3, options)), ipfix(2, set(3, u16(300, 0)), said)}, 1, 0},
		{"all options templates", [][]byte{ipfix(1, set(3, options)), ipfix(2, set(3, u16(3, 0)), said)}, 1, 0},
		{"two in one set", [][]byte{ipfix(1, set(2, tmpl)), ipfix(2, set(2, u16(256, 0, 257, 0)), data)}, 2, 0},
		{"a v9 template without fields", [][]byte{v9(1, set(0, tmpl)), v9(2, set(0, u16(256, 0))), v9(3, data)}, 0, 1},
		{"a v9 options template without fields", [][]byte{v9Said, v9(2, set(1, u16(300, 0, 0)), set(300, u32(0, 100)))}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := decodeAll(t, c.sent...)
			if len(m.Flows)+m.OptionRecords != 1 || m.NoTemplate != 0 || m.Withdrawals != c.withdrawn || m.BadTemplates != c.bad {
				t.Errorf("%+v: want one record, %d withdrawals and %d bad templates", m, c.withdrawn, c.bad)
			}
		})
	}
}

func TestFraming(t *testing.T) {
	good9, good10, good5 := v9(1, set(256, addrData)), ipfix(1, set(256, addrData)), v5(1, 0, 2)
	for _, c := range []struct {
		name string
		d    []byte
		want Reason
	}{
		{"nothing", nil, ReasonShort},
		{"one byte", []byte{0}, ReasonShort},
		{"version 8", join(u16(8), make([]byte, 100)), ReasonVersion},
		{"half a v5 header", good5[:12], ReasonShort},
		{"v5, last record cut", good5[:len(good5)-1], ReasonTruncated},
		{"v5, bytes after the last record", join(good5, []byte{0}), ReasonOversized},
		{"v9, only a version", u16(9), ReasonShort},
		{"v9, set cut", good9[:len(good9)-1], ReasonTruncated},
		{"v9, two stray bytes", join(good9, u16(7)), ReasonTruncated},
		{"v9, four stray bytes", join(good9, u16(0, 1)), ReasonMalformed},
		{"v9, zeros and then something", join(good9, u32(0, 0, 1)), ReasonMalformed},
		{"v9, a header alone", v9(1), ReasonEmpty},
		{"v9, a header and zeros", v9(1, u32(0, 0)), ReasonEmpty},
		{"v9, a set with nothing in it", v9(1, set(256)), ReasonEmpty},
		{"v5, a header alone", v5(1, 0, 0), ReasonEmpty},
		{"IPFIX, a header alone", ipfix(1), ReasonEmpty},
		{"IPFIX says its length, so zeros are no rest", join(good10, u16(0)), ReasonOversized},
		{"v9, set of length 3", v9(1, u16(256, 3)), ReasonMalformed},
		{"v9, set of length 0, for ever", v9(1, u16(256, 0)), ReasonMalformed},
		{"IPFIX, cut", good10[:len(good10)-1], ReasonTruncated},
		{"IPFIX, longer than it says", join(good10, u32(0)), ReasonOversized},
		{"IPFIX, length below its header", join(u16(10, 15), make([]byte, 14)), ReasonOversized},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseHeader(c.d)
			var r *Refusal
			if !errors.As(err, &r) || r.Reason != c.want {
				t.Errorf("error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestEveryPrefixOfARealDatagramIsRefused(t *testing.T) {
	for _, d := range allCaptures(t) {
		for n := range d {
			h, err := ParseHeader(d[:n])
			if err == nil && h.Source != flowrecord.NetFlowV9 { // v9 does not say its own length: a cut between sets is not seen
				t.Fatalf("%s: %d of %d bytes were taken", h.Source, n, len(d))
			}
		}
	}
}

func TestPanicOfTheDecoderIsARefusal(t *testing.T) {
	// A header that lies about what follows, as only a bug in ParseHeader would let through.
	err := Decode([]byte{0, 9}, Header{Source: flowrecord.NetFlowV9}, &Templates{}, &Message{})
	var r *Refusal
	if !errors.As(err, &r) || r.Reason != ReasonPanic {
		t.Errorf("error is %v, want %s", err, ReasonPanic)
	}
}

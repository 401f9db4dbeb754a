package decode

import (
	"errors"
	"testing"

	"github.com/millrace/millrace/internal/flowrecord"
)

// FuzzDatagram holds for any datagram, after templates of real exporters: no
// panic, no flow that the bus would refuse, memory in proportion to the datagram.
func FuzzDatagram(f *testing.F) {
	for _, d := range allCaptures(f) {
		f.Add(d)
	}
	f.Add(v5(1, 0, 1))
	f.Add(v9(1, set(0, template(256, withAddresses(field{1, 4})...)), set(256, addrData, u32(5))))
	f.Add(ipfix(1, set(3, ipfixOptions(256, []field{{302, 8}}, []field{{305, 4}, {306, 4}})), set(256, u32(0, 4, 1, 99))))
	f.Add(ipfix(1, set(2, template(256, field{8, 4}, field{12, 4}, field{1, 4}, field{82, 0xffff})), set(256, addrData, u32(5), []byte{3, 'a', 'b', 'c'})))
	primed := capture(f, "9-s1")
	f.Fuzz(func(t *testing.T, d []byte) {
		var templates Templates
		for _, p := range append(primed, d) {
			decodeOne(t, p, &templates)
		}
	})
}

// FuzzAgree compares two datagrams of one session, behind templates of real exporters, with what goflow2 makes of them.
func FuzzAgree(f *testing.F) {
	for _, session := range captureSessions(f) {
		f.Add(session[0], session[len(session)-1])
	}
	f.Add(ipfix(1, madeTemplate(false, 256, []madeField{{302, 8, 0}}, []madeField{{305, 4, 0}, {306, 4, 0}})), ipfix(2, set(256, u32(0, 4, 1, 99))))
	f.Add(v5(1, 0, 1), v5(2, 0x4064, 2))
	primed := capture(f, "9-s1")
	f.Fuzz(func(t *testing.T, a, b []byte) {
		p := newPair()
		for _, d := range append(primed[:len(primed):len(primed)], a, b) {
			if !p.agree(t, d) {
				return
			}
		}
	})
}

// FuzzGenerated compares sessions of made-up templates of known elements, whole and broken.
func FuzzGenerated(f *testing.F) {
	f.Add(uint64(1), false)
	f.Add(uint64(2), true)
	f.Fuzz(generated)
}

// FuzzSFlow compares sFlow datagrams with what goflow2 and golang.org/x/net make of them.
func FuzzSFlow(f *testing.F) {
	f.Add(sflow5(opaque(1, flowSample(512, 3, 4, ethernetIPv4)), opaque(2, u32(1, 2, 0))))
	f.Add(sflow5(opaque(3, u32(1, 0, 2, 512, 1000, 0, 0, 3, 0, 4, 1), rawHeader(1, frame(0x86dd, ipv6Header(0, append([]byte{6, 0, 5, 2, 0, 0, 1, 0}, tcp...)...))))))
	f.Add(sflow5(opaque(1, u32(1, 2, 512, 0, 0, 3, 4, 1), opaque(3, u32(1500, 6, 0x0a000001, 0x0a000002, 40000, 443, 0x18, 0x20)))))
	f.Add(sflow5(opaque(1, flowSample(512, 3, 4, frame(0x8847, join(u32(16<<12|64, 17<<12|1<<8|64), ipv4Header(1, 1500, 8, 0)))))))
	f.Fuzz(func(t *testing.T, d []byte) {
		newPair().agree(t, d)
		var templates Templates
		decodeOne(t, d, &templates)
	})
}

func decodeOne(t *testing.T, d []byte, templates *Templates) {
	h, err := ParseHeader(d)
	if err != nil {
		return
	}
	var m Message
	err = Decode(d, h, templates, &m)
	var r *Refusal
	if errors.As(err, &r) && r.Reason == ReasonPanic {
		t.Errorf("a panic: %v", err)
	}
	// The smallest record has one byte for every field, and a flow three fields.
	if n := len(m.Flows)/2 + m.NotFlows + m.OptionRecords; n > len(d) {
		t.Errorf("%d records out of %d bytes", n, len(d))
	}
	if templates.Len() > MaxTemplates {
		t.Errorf("%d templates", templates.Len())
	}
	for _, f := range m.Flows {
		rec := f.Record
		rec.Exporter = rec.Src
		rec.Start, rec.End = h.ExportTime, h.ExportTime
		if _, err := flowrecord.FromProto(rec.ToProto()); err != nil {
			t.Errorf("flow %+v would not survive the bus: %v", rec, err)
		}
	}
}

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

func decodeOne(t *testing.T, d []byte, templates *Templates) {
	h, err := ParseHeader(d)
	if err != nil {
		return
	}
	var m Message
	err = GoFlow2{}.Decode(d, h, templates, &m)
	var r *Refusal
	if errors.As(err, &r) && r.Reason == ReasonPanic {
		t.Errorf("the decoder panicked on a datagram whose framing is right: %v", err)
	}
	// The smallest record has one byte for every field, and a flow three fields.
	if n := len(m.Flows) + m.NotFlows + m.OptionRecords; n > len(d) {
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

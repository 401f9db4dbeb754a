package decode

import (
	"bytes"
	"testing"

	"github.com/millrace/millrace/internal/flowrecord"
)

// disagreements are the cases in which this package and goflow2 2.2.6 answer differently, and what decides.
var disagreements = []struct {
	name    string
	decided string
	session [][]byte
	flows   int  // ours, of the last datagram
	refused bool // ours
}{
	{
		name:    "a record that is cut by its set, in a template with fields of variable length",
		decided: "RFC 7011 section 7: the field is as long as it says, so this message is malformed. goflow2 takes the shorter value",
		session: [][]byte{ipfix(1, set(2, template(256, withAddresses(field{1, 4}, field{82, 0xffff})...)), set(256, addrData, u32(5), []byte{9, 'a'}))},
		refused: true,
	},
	{
		name:    "padding, or nothing, where a record has fields of variable length",
		decided: "RFC 7011 section 3.3.1: what is shorter than any record is padding. goflow2 wants another record, and drops the message",
		session: [][]byte{ipfix(1, set(2, template(256, withAddresses(field{1, 4}, field{82, 0xffff})...)), set(256, addrData, u32(5), []byte{1, 'a'}, make([]byte, 12)))},
		flows:   1,
	},
	{
		name:    "an options template that is withdrawn",
		decided: "RFC 7011 section 8.1: its record ends with the field count of 0, and is ignored (section 8.4). goflow2 wants a count of scopes, and drops the message",
		session: [][]byte{ipfix(1, set(3, u16(256, 0)), set(2, template(257, withAddresses(field{1, 4})...)), set(257, addrData, u32(5)))},
		flows:   1,
	},
	{
		name:    "zeros behind the last options template",
		decided: "RFC 3954 section 6.1: padding. goflow2 takes six of them for a template, and fewer for an error",
		session: [][]byte{v9(1, set(1, v9Options(256, []field{{1, 4}}, []field{{34, 4}}), make([]byte, 6)), set(256, u32(0, 100)))},
	},
	{
		name:    "a length in a v9 options template that is no multiple of a field specifier's",
		decided: "RFC 3954 section 6.1: the lengths are those of the specifiers, in bytes. goflow2 rounds down",
		session: [][]byte{v9(1, set(1, u16(256, 5, 4), u16(1, 4, 34, 4), []byte{0}))},
		refused: true,
	},
	{
		name:    "something behind the zeros of a set of templates",
		decided: "RFC 7011 section 3.3.1: padding is what a set ends with, and no template has id 0. goflow2 reads on",
		session: [][]byte{v9(1, set(0, u16(0, 0), template(256, withAddresses(field{1, 4})...)), set(256, addrData, u32(5)))},
	},
	{
		name:    "an sFlow sample of a vendor's format",
		decided: "sFlow version 5, section 5: what is not known is left out by its length. goflow2 drops the datagram",
		session: [][]byte{sflow5(opaque(4413<<12|1, u32(1)), opaque(1, flowSample(512, 3, 4, ethernetIPv4)))},
		flows:   1,
	},
	{
		name:    "an sFlow counter sample, or a record beside the packet's header, that is cut",
		decided: "sFlow version 5, section 5: neither is read here, and both can be left out by their lengths. goflow2 drops the datagram",
		session: [][]byte{sflow5(opaque(2, u32(1, 2, 1), opaque(1, u32(1))), opaque(1, flowSample(512, 3, 4, ethernetIPv4)))},
		flows:   1,
	},
	{
		name:    "an sFlow record that is longer than its sample",
		decided: "sFlow version 5, section 5: the sample is malformed. goflow2 takes what stands before it",
		session: [][]byte{sflow5(opaque(1, u32(1, 2, 512, 0, 0, 3, 4, 1), u32(1, 400), make([]byte, 8)))},
		refused: true,
	},
}

func TestDisagreementsWithGoflow2(t *testing.T) {
	for _, c := range disagreements {
		t.Run(c.name, func(t *testing.T) {
			p := newPair()
			last := len(c.session) - 1
			for _, d := range c.session[:last] {
				p.agree(t, d)
			}
			h, err := ParseHeader(c.session[last])
			if err != nil {
				t.Fatal(err)
			}
			if got := why(c.session[last], h, p.templates.layouts()); got != c.name {
				t.Errorf("it is recognised as %q", got)
			}
			ourErr, theirErr, _ := p.decode(c.session[last])
			if p.differ(ourErr, theirErr) == "" {
				t.Error("goflow2 agrees: the row has no use any more")
			}
			if (ourErr != nil) != c.refused || ourErr == nil && len(p.ours.Flows) != c.flows {
				t.Errorf("error %v, %d flows; want refused %v, %d flows", ourErr, len(p.ours.Flows), c.refused, c.flows)
			}
		})
	}
}

// why names the disagreement that a datagram may run into, given the templates known before it.
func why(d []byte, h Header, known map[templateKey]*layout) string {
	switch h.Source {
	case flowrecord.NetFlowV5:
		return ""
	case flowrecord.SFlow:
		return whySFlow(d)
	}
	b := d[ipfixHeader:]
	if h.Source == flowrecord.NetFlowV9 {
		b = v9Sets(d)
	}
	for len(b) > 0 {
		id, body := be.Uint16(b), b[4:be.Uint16(b[2:])]
		b = b[be.Uint16(b[2:]):]
		reason := ""
		if id < 256 {
			reason = whyTemplates(id, body, h, known)
		} else if l := known[templateKey{h.Source, h.Domain, id}]; l != nil && l.variable {
			reason = whyVariable(l, body)
		}
		if reason != "" {
			return reason
		}
	}
	return ""
}

// whyTemplates also learns the templates.
func whyTemplates(set uint16, b []byte, h Header, known map[templateKey]*layout) string {
	for len(b) >= 4 {
		d, rest, err := parseDefinition(set, b)
		switch {
		case d.padding() && len(bytes.Trim(b, "\x00")) > 0:
			return "something behind the zeros of a set of templates"
		case d.padding() && d.options():
			return "zeros behind the last options template"
		case d.withdraws() && d.set == ipfixOptionsSet:
			return "an options template that is withdrawn"
		case set == v9OptionsSet && len(b) >= 6 && (be.Uint16(b[2:])%4 != 0 || be.Uint16(b[4:])%4 != 0):
			return "a length in a v9 options template that is no multiple of a field specifier's"
		case err != nil:
			return ""
		}
		b = rest
		if d.fields > 0 {
			known[templateKey{h.Source, h.Domain, d.id}], _ = compile(d)
		}
	}
	return ""
}

// whyVariable walks over records one field at a time.
func whyVariable(l *layout, b []byte) string {
	for len(b) >= l.minimum {
		var m Message
		n := m.optionsRecord(l, b)
		if n > len(b) {
			return "a record that is cut by its set, in a template with fields of variable length"
		}
		b = b[n:]
	}
	return "padding, or nothing, where a record has fields of variable length"
}

func whySFlow(d []byte) (reason string) {
	at := sflowHeader(d)
	n := be.Uint32(d[at-4:])
	opaques(d[at:], n, func(format uint32, body []byte) bool {
		header := 32
		switch format {
		case sflowExpanded:
			header = 44
		case sflowFlow:
		case sflowCounters, sflowExpCounts:
			reason = "an sFlow counter sample, or a record beside the packet's header, that is cut"
			return true
		default:
			reason = "an sFlow sample of a vendor's format"
			return true
		}
		if len(body) < header {
			return true
		}
		_, ok := opaques(body[header:], be.Uint32(body[header-4:]), func(format uint32, body []byte) bool {
			if format != sflowRawHeader && format != sflowIPv4 && format != sflowIPv6 {
				reason = "an sFlow counter sample, or a record beside the packet's header, that is cut"
			}
			// The header's length is that of the opaque header_bytes, which end within the record.
			return format != sflowRawHeader || len(body) < 16 || int(be.Uint32(body[12:])) <= len(body)-16
		})
		if !ok && reason == "" {
			reason = "an sFlow record that is longer than its sample"
		}
		return true
	})
	if n > 1000 && reason == "" { // goflow2's own limit
		reason = "an sFlow sample of a vendor's format"
	}
	return reason
}

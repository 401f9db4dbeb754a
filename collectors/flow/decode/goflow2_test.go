package decode

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
	"github.com/netsampler/goflow2/v2/decoders/netflowlegacy"

	"github.com/millrace/millrace/internal/flowrecord"
)

// goflow2 decodes with the goflow2 project's decoders, which are written by others, from the same RFCs.
type goflow2 struct{ known map[templateKey]any }

func newGoflow2() *goflow2 { return &goflow2{known: map[templateKey]any{}} }

func (g *goflow2) decode(d []byte, h Header, m *oracleMessage) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Refusal{Reason: ReasonPanic, Err: fmt.Errorf("%v", r)}
		}
	}()
	switch h.Source {
	case flowrecord.NetFlowV5:
		return decodeV5(d, m)
	case flowrecord.SFlow:
		return decodeSFlow(d, m)
	}
	store := goflow2Templates{g, h.Source, &m.BadTemplates, &m.Withdrawals}
	version, body, size := uint16(10), d[ipfixHeader:], len(d)-ipfixHeader
	if h.Source == flowrecord.NetFlowV9 { // goflow2 would stop after as many sets as the header counts records
		version, body, size = 9, v9Sets(d), math.MaxUint16
	}
	sets, err := netflow.DecodeMessageCommon(bytes.NewBuffer(body), store, h.Domain, uint16(size), version)
	for _, s := range sets {
		m.set(s, version == 9, h.ExportTime)
	}
	if err != nil && !errors.Is(err, netflow.ErrorTemplateNotFound) {
		return &Refusal{Reason: ReasonMalformed, Err: err}
	}
	return nil
}

// oracleMessage is a Message as goflow2 gives it.
type oracleMessage struct{ Message }

func (m *oracleMessage) set(set any, v9 bool, exported time.Time) {
	switch s := set.(type) {
	case netflow.DataFlowSet:
		for i := range s.Records {
			m.record(oracleRecord{fields: s.Records[i].Values, exported: exported})
		}
	case netflow.OptionsDataFlowSet:
		for i := range s.Records {
			m.options(append(scopes(s.Records[i].ScopesValues, v9), s.Records[i].OptionsValues...))
		}
	case netflow.RawFlowSet: // what has no template
		m.NoTemplate++
	}
}

func (m *oracleMessage) record(o oracleRecord) {
	fields := o.fields
	m.Records++
	m.init(o)
	forward, ok, _ := o.flow()
	kept := len(m.Flows)
	if ok {
		m.Flows = append(m.Flows, forward)
	}
	if isBiflow(fields) {
		raw := forward.Record
		raw.DstPort = uint16(o.number(destinationTransportPort))
		if back, ok := reverseFlow(o, forward, raw); ok {
			m.Flows = append(m.Flows, back)
		}
	}
	if len(m.Flows) == kept {
		m.NotFlows++
		for _, f := range fields {
			b, _ := f.Value.([]byte)
			if !f.PenProvided && (f.Type == natEvent || f.Type == firewallEvent) && slowNumber(b) != 0 {
				m.Events++
				break
			}
		}
	}
}

// scopes are elements, but for v9's first five.
func scopes(fields []netflow.DataField, v9 bool) (out []netflow.DataField) {
	for _, f := range fields {
		switch {
		case v9 && f.Type == 2:
			f.Type = ingressInterface
		case v9 && f.Type <= 5:
			continue
		}
		out = append(out, f)
	}
	return out
}

func (m *oracleMessage) options(fields []netflow.DataField) {
	o := oracleRecord{fields: fields}
	m.OptionRecords++
	m.init(o)
	if rate := o.rate(); rate > 0 {
		iface := uint32(o.number(ingressInterface))
		if iface == 0 {
			iface = uint32(o.number(egressInterface))
		}
		m.Sampling = append(m.Sampling, Sampling{Selector: o.number(samplerID, selectorID), Interface: iface, Rate: rate})
	}
}

func (m *oracleMessage) init(o oracleRecord) {
	if o.has(systemInitMilliseconds) {
		m.SystemInit = time.UnixMilli(int64(o.number(systemInitMilliseconds))).UTC()
	}
}

func decodeV5(d []byte, m *oracleMessage) error {
	var p netflowlegacy.PacketNetFlowV5
	if err := netflowlegacy.DecodeMessageVersion(bytes.NewBuffer(d), &p); err != nil {
		return &Refusal{Reason: ReasonMalformed, Err: err}
	}
	addr := func(a netflowlegacy.IPAddress) netip.Addr {
		var b [4]byte
		be.PutUint32(b[:], uint32(a))
		return netip.AddrFrom4(b)
	}
	for i := range p.Records {
		r := &p.Records[i]
		m.Records++
		m.Flows = append(m.Flows, Flow{
			Relative: true, First: r.First, Last: r.Last,
			Record: flowrecord.Record{
				Src: addr(r.SrcAddr), Dst: addr(r.DstAddr), SrcPort: r.SrcPort, DstPort: r.DstPort,
				Protocol: r.Proto, TOS: r.Tos, TCPFlags: uint16(r.TCPFlags),
				InIf: uint32(r.Input), OutIf: uint32(r.Output),
				Bytes: uint64(r.DOctets), Packets: uint64(r.DPkts),
			},
		})
	}
	return nil
}

// goflow2Templates keeps templates for goflow2, with the limits of this package.
type goflow2Templates struct {
	*goflow2
	source             flowrecord.Source
	refused, withdrawn *int
}

// AddTemplate implements netflow.NetFlowTemplateSystem.
func (t goflow2Templates) AddTemplate(_ uint16, domain uint32, id uint16, template interface{}) error {
	key := templateKey{t.source, domain, id}
	_, replaces := t.known[key]
	var fields int
	switch d := template.(type) {
	case netflow.TemplateRecord:
		switch {
		case d.FieldCount > 0:
		case id == 0: // padding
			return nil
		case t.source == flowrecord.IPFIX:
			*t.withdrawn++
			return nil
		default:
			*t.refused++
			return nil
		}
		d.Fields = withLength(d.Fields)
		template, fields = d, len(d.Fields)
	case netflow.NFv9OptionsTemplateRecord:
		if len(d.Scopes)+len(d.Options) == 0 {
			*t.refused++
			return nil
		}
		d.Scopes, d.Options = withLength(d.Scopes), withLength(d.Options)
		template, fields = d, len(d.Scopes)+len(d.Options)
	case netflow.IPFIXOptionsTemplateRecord:
		d.Scopes, d.Options = withLength(d.Scopes), withLength(d.Options)
		template, fields = d, len(d.Scopes)+len(d.Options)
	}
	delete(t.known, key)
	if id < 256 || fields == 0 || fields > MaxFields || !replaces && len(t.known) >= MaxTemplates {
		*t.refused++
		return nil
	}
	t.known[key] = template
	return nil
}

// withLength leaves out fields of length zero. goflow2 leaves the enterprise bit in the elements of options.
func withLength(fields []netflow.Field) (out []netflow.Field) {
	for _, f := range fields {
		if f.PenProvided {
			f.Type &^= 0x8000
		}
		if f.Length > 0 {
			out = append(out, f)
		}
	}
	return out
}

// GetTemplate implements netflow.NetFlowTemplateSystem.
func (t goflow2Templates) GetTemplate(_ uint16, domain uint32, id uint16) (interface{}, error) {
	if template, ok := t.known[templateKey{t.source, domain, id}]; ok {
		return template, nil
	}
	return nil, netflow.ErrorTemplateNotFound
}

// RemoveTemplate implements netflow.NetFlowTemplateSystem.
func (t goflow2Templates) RemoveTemplate(_ uint16, domain uint32, id uint16) (interface{}, error) {
	delete(t.known, templateKey{t.source, domain, id})
	return nil, nil
}

// GetTemplates implements netflow.NetFlowTemplateSystem.
func (t goflow2Templates) GetTemplates() netflow.FlowBaseTemplateSet { return nil }

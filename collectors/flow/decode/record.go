package decode

import (
	"cmp"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// sets decodes the sets of a v9 or IPFIX message. All of v9's are read: its header counts records, and softflowd counts
// its flows there but not its templates.
func (m *Message) sets(d []byte, h Header, t *Templates) error {
	define := func(d definition) { t.store(h, d) }
	var err error
	for len(d) > 0 && err == nil {
		id, n := be.Uint16(d), int(be.Uint16(d[2:]))
		body := d[setHeader:n]
		d = d[n:]
		v9 := h.Source == flowrecord.NetFlowV9
		switch {
		case id >= firstDataSet:
			r, ok := t.known[templateKey{h.Source, h.Domain, id}]
			if !ok {
				m.NoTemplate++
				continue
			}
			err = m.data(r.template, body, h.ExportTime)
		case v9 && (id == v9TemplateSet || id == v9OptionsSet), !v9 && (id == ipfixTemplateSet || id == ipfixOptionsSet):
			err = eachDefinition(id, body, define)
		default:
			err = malformed("a set whose id is reserved")
		}
	}
	refused, withdrawn := t.takeCounts()
	m.BadTemplates += refused
	m.Withdrawals += withdrawn
	return err
}

// data reads the records of a set. What is shorter than any record is padding (RFC 7011 section 3.3.1).
func (m *Message) data(t *layout, b []byte, exported time.Time) error {
	for len(b) >= t.minimum {
		var n int
		if t.options {
			n = m.optionsRecord(t, b)
		} else {
			n = m.record(t, b, exported)
		}
		if n > len(b) {
			return malformed("a field of variable length is longer than its set")
		}
		b = b[n:]
	}
	return nil
}

// record reads one data record and returns its length; one above len(b) says that it does not fit.
func (m *Message) record(t *layout, b []byte, exported time.Time) (length int) {
	m.Flows = append(m.Flows, Flow{})
	r := reading{f: &m.Flows[len(m.Flows)-1], exported: exported}
	if t.biflow {
		return m.biflow(t, b, &r)
	}
	length = t.read(b, &r, nil)
	m.Records++
	m.note(&r)
	if !r.finish() {
		m.Flows = m.Flows[:len(m.Flows)-1]
		m.notFlow(&r)
	}
	return length
}

// biflow reads a record of both directions (RFC 5103): one flow of each that sent something.
func (m *Message) biflow(t *layout, b []byte, forward *reading) (length int) {
	m.Flows = append(m.Flows, Flow{}) // a place for the reverse direction, in memory that is used again
	last := len(m.Flows) - 1
	forward.f = &m.Flows[last-1]
	backward := reading{f: &m.Flows[last], exported: forward.exported}
	length = t.read(b, forward, &backward)
	m.Records++
	m.note(forward)
	backward.reverseOf(forward)
	there, back := forward.finish(), backward.finish()
	switch {
	case there && !back:
		m.Flows = m.Flows[:last]
	case back && !there:
		m.Flows = append(m.Flows[:last-1], *backward.f)
	case !there:
		m.Flows = m.Flows[:last-1]
		m.notFlow(forward)
	}
	return length
}

// note keeps what a data record says of its exporter.
func (m *Message) note(r *reading) {
	if !r.init.IsZero() {
		m.SystemInit = r.init
	}
}

func (m *Message) notFlow(r *reading) {
	m.NotFlows++
	if r.event {
		m.Events++
	}
}

// optionsRecord reads one options data record.
func (m *Message) optionsRecord(t *layout, b []byte) (length int) {
	n := len(m.Flows)
	m.Flows = append(m.Flows, Flow{}, Flow{}) // as above; an options record has no reverse direction, whatever it names
	said := &m.Flows[n]
	m.Flows = m.Flows[:n]
	r := reading{f: said}
	length = t.read(b, &r, &reading{f: &m.Flows[:n+2][n+1]})
	m.OptionRecords++
	m.note(&r)
	if rate := r.sampling.rate(); rate > 0 {
		iface := cmp.Or(said.Record.InIf, said.Record.OutIf)
		m.Sampling = append(m.Sampling, Sampling{Selector: r.sampling.selector, Interface: iface, Rate: rate})
	}
	return length
}

// read takes the fields of one record, which has the minimum length, and those of the reverse direction of a biflow.
func (t *layout) read(b []byte, r, backward *reading) (length int) {
	if t.plain {
		return t.readPlain(b, r)
	}
	base := 0
	for i := range t.steps {
		s := &t.steps[i]
		from := base + int(s.at)
		to := from + int(s.length)
		if s.length == variable {
			from, to = variableField(b, from)
			base = to
		}
		if to > len(b) {
			return len(b) + 1
		}
		switch {
		case s.to == ignored:
		case s.to&reverse != 0:
			backward.take(s.to&^reverse, b[from:to])
		default:
			r.take(s.to, b[from:to])
		}
	}
	return base + t.tail
}

// variableField says where the value of a field of variable length stands (RFC 7011 section 7).
func variableField(b []byte, at int) (from, to int) {
	const long = 255 // two more bytes have the length
	switch {
	case at >= len(b):
		return at, len(b) + 1
	case b[at] < long:
		return at + 1, at + 1 + int(b[at])
	case at+3 > len(b):
		return at, len(b) + 1
	}
	return at + 3, at + 3 + int(be.Uint16(b[at+1:]))
}

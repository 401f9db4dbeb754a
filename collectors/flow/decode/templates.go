package decode

import (
	"time"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
)

// Limits that keep one exporter from using much memory. A template is a few
// hundred bytes; real exporters have fewer than twenty, of fewer than 100 fields.
const (
	MaxTemplates = 512
	MaxFields    = 256
	// firstDataSet is the lowest template id: lower ones are kinds of set.
	firstDataSet = 256
)

type templateKey struct {
	version uint16
	domain  uint32
	id      uint16
}

// Templates holds the templates of one transport session: RFC 7011 section 8
// has ids unique per session and observation domain. The zero value is empty.
type Templates struct {
	known map[templateKey]received
	// now is when the datagram arrived that is being decoded.
	now time.Time
	// oldest is not after any template's last arrival, so that most datagrams need not look at all templates.
	oldest  time.Time
	refused int // since the count was last taken
	bytes   int
}

// received is a template and when it arrived last.
type received struct {
	template any
	at       time.Time
	bytes    int
}

// What a template takes: its entry in the map with room to grow, the record behind it, and each of its fields.
const (
	templateBytes = 320
	fieldBytes    = 16
)

// Expire makes at the arrival time of the templates that are decoded next, and
// forgets those that last arrived more than lifetime before (RFC 7011 section
// 8.4, RFC 3954 section 9). It returns how many.
func (t *Templates) Expire(at time.Time, lifetime time.Duration) (expired int) {
	t.now = at
	if at.Sub(t.oldest) <= lifetime {
		return 0
	}
	t.oldest = at
	for key, r := range t.known {
		switch {
		case at.Sub(r.at) > lifetime:
			t.forget(key)
			expired++
		case r.at.Before(t.oldest):
			t.oldest = r.at
		}
	}
	return expired
}

// Len is the number of templates known.
func (t *Templates) Len() int { return len(t.known) }

// Bytes is about how much memory they take.
func (t *Templates) Bytes() int { return t.bytes }

// Clear forgets all templates, as RFC 3954 section 9 asks when an exporter restarts.
func (t *Templates) Clear() { t.known, t.bytes = nil, 0 }

func (t *Templates) forget(key templateKey) {
	t.bytes -= t.known[key].bytes
	delete(t.known, key)
}

func (t *Templates) takeRefused() int {
	n := t.refused
	t.refused = 0
	return n
}

// store is what the decoder calls with each template it reads.
func (t *Templates) store(key templateKey, template any) {
	template, fields := withLength(template)
	_, replaces := t.known[key]
	switch {
	case withdrawn(template):
		t.forget(key)
	case key.id < firstDataSet, fields == 0, fields > MaxFields, !replaces && len(t.known) >= MaxTemplates:
		t.forget(key)
		t.refused++
	default:
		if t.known == nil {
			t.known = map[templateKey]received{}
		}
		t.forget(key)
		size := templateBytes + fields*fieldBytes
		t.known[key] = received{template, t.now, size}
		t.bytes += size
		if t.now.Before(t.oldest) { // the clock was set back
			t.oldest = t.now
		}
	}
}

// withdrawn tells a template that withdraws an earlier one (RFC 7011 section 8.1).
func withdrawn(template any) bool {
	t, ok := template.(netflow.TemplateRecord)
	return ok && t.FieldCount == 0
}

// withLength leaves out fields of length zero, which say nothing: Junos SRX names the scope "system" so, others fill
// up with them. What is left has at least one byte, so that no data set holds endlessly many records, and every field
// read has one. It returns how many fields are left.
func withLength(template any) (any, int) {
	switch t := template.(type) {
	case netflow.TemplateRecord:
		t.Fields = compact(t.Fields)
		return t, len(t.Fields)
	case netflow.NFv9OptionsTemplateRecord:
		t.Scopes, t.Options = compact(t.Scopes), compact(t.Options)
		return t, len(t.Scopes) + len(t.Options)
	case netflow.IPFIXOptionsTemplateRecord:
		t.Scopes, t.Options = compact(t.Scopes), compact(t.Options)
		return t, len(t.Scopes) + len(t.Options)
	}
	return template, 0
}

// compact leaves the list alone, which the decoder still owns. The new one has no room to spare: a long list of nothing
// must not stay in memory as a short one.
func compact(fields []netflow.Field) []netflow.Field {
	n := 0
	for _, f := range fields {
		if f.Length > 0 {
			n++
		}
	}
	if n == len(fields) {
		return fields
	}
	out := make([]netflow.Field, 0, n)
	for _, f := range fields {
		if f.Length > 0 {
			out = append(out, f)
		}
	}
	return out
}

// goflow2Templates shows Templates the way goflow2 wants to see them.
type goflow2Templates struct{ *Templates }

// AddTemplate implements netflow.NetFlowTemplateSystem. A refused template is
// no error: the rest of the datagram may still be good.
func (t goflow2Templates) AddTemplate(version uint16, domain uint32, id uint16, template interface{}) error {
	t.store(templateKey{version, domain, id}, template)
	return nil
}

// GetTemplate implements netflow.NetFlowTemplateSystem.
func (t goflow2Templates) GetTemplate(version uint16, domain uint32, id uint16) (interface{}, error) {
	if r, ok := t.known[templateKey{version, domain, id}]; ok {
		return r.template, nil
	}
	return nil, netflow.ErrorTemplateNotFound
}

// RemoveTemplate implements netflow.NetFlowTemplateSystem.
func (t goflow2Templates) RemoveTemplate(version uint16, domain uint32, id uint16) (interface{}, error) {
	template, err := t.GetTemplate(version, domain, id)
	t.forget(templateKey{version, domain, id})
	return template, err
}

// GetTemplates implements netflow.NetFlowTemplateSystem.
func (t goflow2Templates) GetTemplates() netflow.FlowBaseTemplateSet { return nil }

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
}

// received is a template and when it arrived last.
type received struct {
	template any
	at       time.Time
}

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
			delete(t.known, key)
			expired++
		case r.at.Before(t.oldest):
			t.oldest = r.at
		}
	}
	return expired
}

// Len is the number of templates known.
func (t *Templates) Len() int { return len(t.known) }

// Clear forgets all templates, as RFC 3954 section 9 asks when an exporter restarts.
func (t *Templates) Clear() { clear(t.known) }

func (t *Templates) takeRefused() int {
	n := t.refused
	t.refused = 0
	return n
}

// store is what the decoder calls with each template it reads.
func (t *Templates) store(key templateKey, template any) {
	fields, records := fieldsOf(template)
	_, replaces := t.known[key]
	switch {
	case records && len(fields) == 0: // RFC 7011 section 8.1: a withdrawal
		delete(t.known, key)
	case key.id < firstDataSet, !decodable(fields), !replaces && len(t.known) >= MaxTemplates:
		delete(t.known, key)
		t.refused++
	default:
		if t.known == nil {
			t.known = map[templateKey]received{}
		}
		t.known[key] = received{template, t.now}
		if t.now.Before(t.oldest) { // the clock was set back
			t.oldest = t.now
		}
	}
}

// decodable refuses fields of no length: a record could then be of no length
// too, and a data set hold endlessly many, or few bytes make many fields.
func decodable(fields []netflow.Field) bool {
	if len(fields) == 0 || len(fields) > MaxFields {
		return false
	}
	for _, f := range fields {
		if f.Length == 0 {
			return false
		}
	}
	return true
}

// fieldsOf lists scope and option fields together; records says that the
// template describes records rather than options.
func fieldsOf(template any) (fields []netflow.Field, records bool) {
	switch t := template.(type) {
	case netflow.TemplateRecord:
		return t.Fields, true
	case netflow.NFv9OptionsTemplateRecord:
		return append(t.Scopes[:len(t.Scopes):len(t.Scopes)], t.Options...), false
	case netflow.IPFIXOptionsTemplateRecord:
		return append(t.Scopes[:len(t.Scopes):len(t.Scopes)], t.Options...), false
	}
	return nil, false
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
	delete(t.known, templateKey{version, domain, id})
	return template, err
}

// GetTemplates implements netflow.NetFlowTemplateSystem.
func (t goflow2Templates) GetTemplates() netflow.FlowBaseTemplateSet { return nil }

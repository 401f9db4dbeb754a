package decode

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// Definition is a template as it came, so that it can be kept while the collector is down.
type Definition struct {
	Source flowrecord.Source `json:"source"`
	Domain uint32            `json:"domain"`
	// Set is the kind of set that it came in: RFC 3954 sections 5.2 and 6.1, RFC 7011 section 3.3.2.
	Set uint16 `json:"set"`
	ID  uint16 `json:"id"`
	// Fields counts the field specifiers, Scopes those of them that are scopes; Specs are their bytes.
	Fields int    `json:"fields"`
	Scopes int    `json:"scopes,omitempty"`
	Specs  []byte `json:"specs"`
	// At is when it arrived last.
	At time.Time `json:"at"`
}

// Definitions are all templates, in order. They share memory with t.
func (t *Templates) Definitions() []Definition {
	var out []Definition
	for key, r := range t.known {
		out = append(out, Definition{
			Source: key.source, Domain: key.domain, Set: r.from.set, ID: key.id,
			Fields: r.from.fields, Scopes: r.from.scopes, Specs: r.from.specs, At: r.at,
		})
	}
	slices.SortFunc(out, func(a, b Definition) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// ErrDefinition is of what no exporter can have sent.
var ErrDefinition = errors.New("not a template")

// Restore takes a template as if it arrived when it did.
func (t *Templates) Restore(d Definition) error {
	kinds := map[flowrecord.Source][2]uint16{
		flowrecord.NetFlowV9: {v9TemplateSet, v9OptionsSet}, flowrecord.IPFIX: {ipfixTemplateSet, ipfixOptionsSet},
	}
	kind, known := kinds[d.Source]
	from := definition{set: d.Set, id: d.ID, fields: d.Fields, scopes: d.Scopes, specs: d.Specs}
	if !known || d.Set != kind[0] && d.Set != kind[1] || d.Fields < 1 || d.Fields > MaxFields || d.Scopes < 0 || d.Scopes > d.Fields {
		return ErrDefinition
	}
	if n, err := specsLength(from, d.Specs); err != nil || n != len(d.Specs) {
		return ErrDefinition
	}
	t.now = d.At
	t.store(Header{Source: d.Source, Domain: d.Domain}, from)
	if refused, _ := t.takeCounts(); refused > 0 {
		return ErrDefinition
	}
	return nil
}

package decode

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// Kinds of set that define templates: RFC 3954 sections 5.2 and 6.1, RFC 7011 section 3.3.2.
const (
	v9TemplateSet    = 0
	v9OptionsSet     = 1
	ipfixTemplateSet = 2
	ipfixOptionsSet  = 3
)

// variable is the length of a field that says its own length in each record (RFC 7011 section 7).
const variable = 0xffff

// definition is a template record as it came.
type definition struct {
	set    uint16 // its kind
	id     uint16
	fields int // scopes among them
	scopes int
	specs  []byte // the field specifiers
}

func (d *definition) options() bool { return d.set == v9OptionsSet || d.set == ipfixOptionsSet }

func (d *definition) ipfix() bool { return d.set >= ipfixTemplateSet }

// padding: behind the last template of a set there are zeros, and no template has id 0.
func (d *definition) padding() bool { return d.id == 0 && d.fields == 0 }

// withdraws an earlier template (RFC 7011 section 8.1), or all of its kind where the id is that of the set.
func (d *definition) withdraws() bool { return d.fields == 0 && d.ipfix() }

// parseDefinition reads one template record of a set and returns what stands behind it.
func parseDefinition(set uint16, b []byte) (d definition, rest []byte, err error) {
	d.set, d.id, d.fields = set, be.Uint16(b), int(be.Uint16(b[2:]))
	rest = b[4:]
	switch {
	case !d.options() || d.fields == 0 && d.ipfix(): // a withdrawal has no count of scopes
	case len(rest) < 2:
		return d, nil, malformed("an options template ends in its header")
	case d.ipfix():
		d.scopes, rest = int(be.Uint16(rest)), rest[2:]
		if d.scopes > d.fields {
			return d, nil, malformed("an options template has more scopes than fields")
		}
	default: // v9 gives lengths in bytes
		scopes, options := d.fields, int(be.Uint16(rest))
		if scopes%4 != 0 || options%4 != 0 {
			return d, nil, malformed("a length in an options template is no number of field specifiers")
		}
		d.scopes, d.fields, rest = scopes/4, (scopes+options)/4, rest[2:]
	}
	n, err := specsLength(d, rest)
	if err != nil {
		return d, nil, err
	}
	d.specs = rest[:n]
	return d, rest[n:], nil
}

// specsLength is the length of the field specifiers: four bytes each, and four more where an enterprise is named.
func specsLength(d definition, b []byte) (int, error) {
	at := 0
	for range d.fields {
		if len(b)-at < 4 {
			return 0, malformed("a template is longer than its set")
		}
		at += 4
		if d.ipfix() && b[at-4]&0x80 != 0 {
			at += 4
		}
	}
	if at > len(b) {
		return 0, malformed("a template is longer than its set")
	}
	return at, nil
}

// eachDefinition calls do with the template records of a set, if all of them parse.
func eachDefinition(set uint16, body []byte, do func(definition)) error {
	for _, act := range []bool{false, true} {
		for rest := body; len(rest) >= 4; {
			d, behind, err := parseDefinition(set, rest)
			if d.padding() {
				break
			}
			if err != nil {
				return err
			}
			if act {
				do(d)
			}
			rest = behind
		}
	}
	return nil
}

func malformed(what string) error {
	return &Refusal{Reason: ReasonMalformed, Err: fmt.Errorf("%s", what)}
}

// layout is a definition made ready to read records.
type layout struct {
	steps []step
	// minimum is the length of the shortest record: all of them where no field has a variable length.
	minimum  int
	tail     int // behind the last step
	variable bool
	options  bool
	// plain: all fields have a fixed length and are those of one direction.
	plain bool
	// biflow: some step goes into the reverse direction.
	biflow bool
	// digest is that of the definition, so that a template that is sent again is known.
	digest uint64
}

// step reads one field. It stands at bytes behind the end of the last field of variable length, or behind the
// beginning of the record.
type step struct {
	at, length uint16
	to         target
	usual      usual
}

// compile leaves out fields of length zero, which say nothing: Junos SRX names the scope "system" so, others fill
// up with them. What is left has at least one byte, so that no data set holds endlessly many records. It returns how
// many fields are left.
func compile(d definition) (*layout, int) {
	t := &layout{options: d.options()}
	left, at := 0, 0
	for i, specs := 0, d.specs; i < d.fields; i++ {
		element, length, pen := be.Uint16(specs), be.Uint16(specs[2:]), uint32(0)
		specs = specs[4:]
		enterprise := d.ipfix() && element&0x8000 != 0
		if enterprise {
			element, pen, specs = element&0x7fff, be.Uint32(specs), specs[4:]
		}
		if length == 0 {
			continue
		}
		left++
		to := targetOf(element, pen)
		switch {
		case enterprise && pen == 0: // reserved
			to = ignored
		case i < d.scopes && !d.ipfix():
			to = scopeTarget(element)
		}
		at = t.add(step{at: uint16(at), length: length, to: to, usual: usuals[step{length: length, to: to}]}, at)
	}
	t.tail = at
	t.plain = !t.variable && !t.biflow
	return t, left
}

// add appends a step, unless there is nothing to read, and returns where the next one stands. A record of more than
// 65,535 bytes never comes, so that places beyond do not matter.
func (t *layout) add(s step, at int) (next int) {
	t.biflow = t.biflow || s.to&reverse != 0
	if s.length == variable {
		t.variable = true
		t.minimum++
		t.steps = append(t.steps, s)
		return 0
	}
	t.minimum += int(s.length)
	if s.to != ignored {
		t.steps = append(t.steps, s)
	}
	return at + int(s.length)
}

// digest distinguishes definitions.
func (d *definition) digest() uint64 {
	var head [8]byte
	be.PutUint16(head[:], d.set)
	be.PutUint16(head[2:], uint16(d.scopes))
	be.PutUint32(head[4:], uint32(d.fields))
	return xxhash.Sum64(head[:])*31 + xxhash.Sum64(d.specs)
}

package decode

import (
	"bytes"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// Limits that keep one exporter from using much memory. A template is a few
// hundred bytes; real exporters have fewer than twenty, of fewer than 100 fields.
const (
	MaxTemplates = 512
	MaxFields    = 256 // those of length zero among them, which say nothing and take memory
	// firstDataSet is the lowest template id: lower ones are kinds of set.
	firstDataSet = 256
)

type templateKey struct {
	source flowrecord.Source
	domain uint32
	id     uint16
}

// Templates holds the templates of one transport session: RFC 7011 section 8
// has ids unique per session and observation domain. The zero value is empty.
type Templates struct {
	known map[templateKey]received
	// now is when the datagram arrived that is being decoded.
	now time.Time
	// oldest is not after any template's last arrival, so that most datagrams need not look at all templates.
	oldest time.Time
	// refused and withdrawn are since the counts were last taken.
	refused, withdrawn int
	bytes              int
}

// received is a template, how it came, and when it arrived last.
type received struct {
	template *layout
	from     definition
	at       time.Time
	bytes    int
}

// What a template takes: its entry in the map with room to grow, the template behind it, and each of its fields, as it
// came and compiled.
const (
	templateBytes = 400
	fieldBytes    = 24
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

// takeCounts is how many templates were refused, and how many withdrawals were ignored, since it was last asked.
func (t *Templates) takeCounts() (refused, withdrawn int) {
	refused, withdrawn = t.refused, t.withdrawn
	t.refused, t.withdrawn = 0, 0
	return refused, withdrawn
}

// store takes a template record. One that is refused is no error: the rest of the datagram may still be good.
func (t *Templates) store(h Header, d definition) {
	key := templateKey{h.Source, h.Domain, d.id}
	switch {
	case d.withdraws(): // "MUST be ignored by Collecting Processes collecting via UDP" (RFC 7011 section 8.4)
		t.withdrawn++
		return
	case d.fields == 0: // NetFlow v9 knows no withdrawal
		t.refused++
		return
	case d.fields > MaxFields:
		t.forget(key)
		t.refused++
		return
	}
	before, replaces := t.known[key]
	digest := d.digest()
	if replaces && before.template.digest == digest {
		before.at = t.now
		t.known[key] = before
		t.noteArrival()
		return
	}
	compiled, fields := compile(d)
	compiled.digest = digest
	d.specs = bytes.Clone(d.specs)
	t.forget(key)
	if key.id < firstDataSet || fields == 0 || !replaces && len(t.known) >= MaxTemplates {
		t.refused++
		return
	}
	if t.known == nil {
		t.known = map[templateKey]received{}
	}
	size := templateBytes + d.fields*fieldBytes
	t.known[key] = received{compiled, d, t.now, size}
	t.bytes += size
	t.noteArrival()
}

func (t *Templates) noteArrival() {
	if t.now.Before(t.oldest) { // the clock was set back
		t.oldest = t.now
	}
}

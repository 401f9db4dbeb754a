package decode

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/flowrecord"
)

// pair decodes the same datagrams of one session with this package and with goflow2.
type pair struct {
	templates Templates
	oracle    *goflow2
	ours      Message
	theirs    oracleMessage
}

func newPair() *pair { return &pair{oracle: newGoflow2()} }

// decode gives both the datagram. ok is false where its header is refused, which goflow2 does not come to see, and
// where goflow2 would take all memory.
func (p *pair) decode(d []byte) (ourErr, theirErr error, ok bool) {
	h, err := ParseHeader(d)
	if err != nil || endless(d, h) {
		return nil, nil, false
	}
	p.ours.Reset()
	p.theirs = oracleMessage{}
	return Decode(d, h, &p.templates, &p.ours), p.oracle.decode(d, h, &p.theirs), true
}

// differ says how the answers differ; empty if they do not.
func (p *pair) differ(ourErr, theirErr error) string {
	if (ourErr == nil) != (theirErr == nil) {
		return fmt.Sprintf("error %v, goflow2's %v", ourErr, theirErr)
	}
	if ourErr != nil {
		return ""
	}
	if len(p.templates.known) != len(p.oracle.known) {
		return fmt.Sprintf("%d templates known, goflow2 has %d", len(p.templates.known), len(p.oracle.known))
	}
	ours := p.ours
	if len(ours.Flows) == 0 {
		ours.Flows = nil
	}
	if len(ours.Sampling) == 0 {
		ours.Sampling = nil
	}
	return diff(ours, p.theirs.Message)
}

// endless finds an sFlow datagram for which goflow2 2.2.6 makes room for up to 2^32 records before it reads one.
func endless(d []byte, h Header) (is bool) {
	if h.Source != flowrecord.SFlow {
		return false
	}
	at := sflowHeader(d)
	opaques(d[at:], be.Uint32(d[at-4:]), func(format uint32, body []byte) bool {
		is = is || format == sflowExpanded && len(body) >= 44 && be.Uint32(body[40:]) > 1000
		return true
	})
	return is
}

// agree fails where the two differ and no row of the table of disagreements says why.
func (p *pair) agree(t *testing.T, d []byte) (goOn bool) {
	t.Helper()
	before := p.templates.layouts()
	ourErr, theirErr, ok := p.decode(d)
	if !ok {
		return true
	}
	if what := p.differ(ourErr, theirErr); what != "" {
		h, _ := ParseHeader(d) //nolint:errcheck // decode has seen that there is none
		if why(d, h, before) == "" {
			t.Errorf("datagram %x: %s", d, what)
		}
		return false // the templates known may differ from here on
	}
	return true
}

func (t *Templates) layouts() map[templateKey]*layout {
	all := map[templateKey]*layout{}
	for k, r := range t.known {
		all[k] = r.template
	}
	return all
}

// TestCapturesAgreeWithGoflow2 compares the sessions of all captures, and the datagrams after changes of single bytes.
func TestCapturesAgreeWithGoflow2(t *testing.T) {
	for _, session := range captureSessions(t) {
		p := newPair()
		for _, d := range session {
			p.agree(t, d)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 100 {
			p := newPair()
			for _, d := range session {
				if !p.agree(t, mutated(rng, d)) {
					break
				}
			}
		}
	}
}

// mutated changes, on the average, one datagram of three, in one to three places.
func mutated(rng *rand.Rand, d []byte) []byte {
	d = slices.Clone(d)
	if rng.IntN(3) > 0 {
		return d
	}
	for range 1 + rng.IntN(3) {
		switch at := rng.IntN(len(d)); rng.IntN(3) {
		case 0:
			d[at] ^= 1 << rng.IntN(8)
		case 1:
			d[at] = byte(rng.IntN(256))
		case 2:
			if at+2 <= len(d) {
				binary.BigEndian.PutUint16(d[at:], []uint16{0, 1, 4, 8, 0xff, 0xffff, 256}[rng.IntN(7)])
			}
		}
	}
	return d
}

func TestGeneratedTemplatesAgreeWithGoflow2(t *testing.T) {
	for seed := range uint64(1000) {
		generated(t, seed, seed%4 == 0)
	}
}

// generated compares a session of made-up templates and their data; mutate breaks some of it.
func generated(t *testing.T, seed uint64, mutate bool) {
	rng := rand.New(rand.NewPCG(seed, 7))
	p := newPair()
	for _, d := range madeUp(rng) {
		if mutate {
			d = mutated(rng, d)
		}
		if !p.agree(t, d) {
			break
		}
	}
}

// madeUp is a session of a few templates, in one format, and data for them.
func madeUp(rng *rand.Rand) (all [][]byte) {
	isV9 := rng.IntN(2) == 0
	message := ipfix
	if isV9 {
		message = v9
	}
	for seq := range uint32(1 + rng.IntN(3)) {
		var sets [][]byte
		for range 1 + rng.IntN(3) {
			id := uint16(256 + rng.IntN(3))
			scopes, fields := []madeField(nil), madeFields(rng, isV9)
			if rng.IntN(4) == 0 {
				scopes = madeFields(rng, isV9)[:1]
			}
			sets = append(sets, madeTemplate(isV9, id, scopes, fields))
			var data []byte
			for range rng.IntN(4) {
				for _, f := range append(slices.Clone(scopes), fields...) {
					data = append(data, f.value(rng)...)
				}
			}
			sets = append(sets, set(id, data, make([]byte, rng.IntN(2)*rng.IntN(4))))
		}
		all = append(all, message(seq, sets...))
	}
	return all
}

type madeField struct {
	element, length uint16
	pen             uint32
}

func madeFields(rng *rand.Rand, isV9 bool) (fields []madeField) {
	var elements []uint16
	for e := range targets {
		elements = append(elements, e)
	}
	slices.Sort(elements)
	if rng.IntN(4) > 0 {
		fields = []madeField{{8, 4, 0}, {12, 4, 0}, {1, 4, 0}}
		if rng.IntN(2) == 0 {
			fields = []madeField{{27, 16, 0}, {28, 16, 0}, {31, 3, 0}, {1, 8, 0}, {2, 4, 0}}
		}
	}
	for range 1 + rng.IntN(12) {
		f := madeField{element: elements[rng.IntN(len(elements))], length: []uint16{1, 2, 3, 4, 8, 16, 9, 0}[rng.IntN(8)]}
		switch rng.IntN(12) {
		case 0:
			f.element = uint16(rng.IntN(500)) // any
		case 1:
			f.element = 70 + uint16(rng.IntN(10))
		case 2, 3:
			if !isV9 {
				f.pen = []uint32{reversePEN, 9, 2636}[rng.IntN(3)]
			}
		case 4:
			if !isV9 {
				f.length = variable
			}
		}
		fields = append(fields, f)
	}
	return fields
}

func (f madeField) spec() []byte {
	if f.pen == 0 {
		return u16(f.element, f.length)
	}
	return append(u16(f.element|0x8000, f.length), u32(f.pen)...)
}

func (f madeField) value(rng *rand.Rand) []byte {
	n, b := int(f.length), []byte(nil)
	if f.length == variable {
		n = []int{0, 1, 4, 20, 254, 300}[rng.IntN(6)]
		if b = []byte{byte(n)}; n >= 255 || rng.IntN(8) == 0 {
			b = append([]byte{255}, u16(uint16(n))...)
		}
	}
	for range n {
		b = append(b, byte(rng.IntN(4)*rng.IntN(256)))
	}
	if f.element == samplingProbability && n == 4 {
		return binary.BigEndian.AppendUint32(b[:len(b)-4], math.Float32bits(rng.Float32()))
	}
	return b
}

func madeTemplate(isV9 bool, id uint16, scopes, fields []madeField) []byte {
	var specs []byte
	for _, f := range append(slices.Clone(scopes), fields...) {
		specs = append(specs, f.spec()...)
	}
	switch {
	case isV9 && scopes == nil:
		return set(0, u16(id, uint16(len(fields))), specs)
	case isV9:
		return set(1, u16(id, uint16(4*len(scopes)), uint16(4*len(fields))), specs)
	case scopes == nil:
		return set(2, u16(id, uint16(len(fields))), specs)
	}
	return set(3, u16(id, uint16(len(scopes)+len(fields)), uint16(len(scopes))), specs)
}

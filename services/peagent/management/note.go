package management

import (
	"encoding/binary"
	"math"
	"net/netip"

	"github.com/dchest/siphash"

	"github.com/millrace/millrace/services/peagent/law"
)

// NoteSize is the UDP payload of a note.
const (
	NoteSize   = 80
	noteSigned = 72
	noteMagic  = 0x4e56
)

// Note is what a PE tells its peers about its own VPN flows, so that all choose
// b by the same reference price and level.
type Note struct {
	From netip.Addr
	// Sequence grows, also over restarts (it is a time), so that an old note cannot be replayed.
	Sequence  uint64
	Reference law.Reference
}

// Encode signs a note.
func (n Note) Encode(id uint8, k Key) []byte {
	b := make([]byte, NoteSize)
	binary.BigEndian.PutUint16(b, noteMagic)
	b[2], b[4] = version, id
	from := n.From.As4()
	copy(b[8:], from[:])
	binary.BigEndian.PutUint64(b[16:], n.Sequence)
	for i, v := range numbers(&n.Reference) {
		binary.BigEndian.PutUint64(b[24+8*i:], math.Float64bits(*v))
	}
	binary.LittleEndian.PutUint64(b[noteSigned:], siphash.Hash(k.k0, k.k1, b[:noteSigned]))
	return b
}

// ParseNote reads a note and checks its tag and its numbers.
func ParseNote(b []byte, keys *Keyring) (Note, error) {
	if len(b) != NoteSize || binary.BigEndian.Uint16(b) != noteMagic || b[2] != version {
		return Note{}, ErrMalformed
	}
	k, ok := keys.Find(b[4])
	if !ok || siphash.Hash(k.k0, k.k1, b[:noteSigned]) != binary.LittleEndian.Uint64(b[noteSigned:]) {
		return Note{}, ErrForged
	}
	n := Note{From: netip.AddrFrom4([4]byte(b[8:12])), Sequence: binary.BigEndian.Uint64(b[16:])}
	for i, v := range numbers(&n.Reference) {
		*v = math.Float64frombits(binary.BigEndian.Uint64(b[24+8*i:]))
		if math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0 {
			return Note{}, ErrMalformed
		}
	}
	return n, nil
}

func numbers(r *law.Reference) [6]*float64 {
	return [...]*float64{&r.Flows, &r.Inverse, &r.Seen, &r.Gap, &r.Used, &r.Weight}
}

package management

import (
	"encoding/binary"
	"math"
	"net/netip"

	"github.com/dchest/siphash"

	"github.com/millrace/millrace/services/peagent/law"
)

// PeerUpdateSize is the UDP payload of a peer update; the last eight bytes are the tag.
const (
	PeerUpdateSize   = 80
	peerUpdateSigned = 72
	peerUpdateMagic  = 0x4e56
)

// PeerUpdate carries the sums over the VPN flows of one PE to the others, so that all PEs choose b by the same
// reference price and normalised throughput.
type PeerUpdate struct {
	From netip.Addr
	// Sequence grows, also over restarts (it is a time), so that an old update cannot be replayed.
	Sequence uint64
	Sums     law.Sums
}

// Encode returns the signed payload.
func (u PeerUpdate) Encode(id uint8, k Key) []byte {
	b := make([]byte, PeerUpdateSize)
	binary.BigEndian.PutUint16(b, peerUpdateMagic)
	b[2], b[4] = version, id
	from := u.From.As4()
	copy(b[8:], from[:])
	binary.BigEndian.PutUint64(b[16:], u.Sequence)
	for i, v := range sumFields(&u.Sums) {
		binary.BigEndian.PutUint64(b[24+8*i:], math.Float64bits(*v))
	}
	binary.LittleEndian.PutUint64(b[peerUpdateSigned:], siphash.Hash(k.k0, k.k1, b[:peerUpdateSigned]))
	return b
}

// ParsePeerUpdate reads an update and checks its tag and its numbers.
func ParsePeerUpdate(b []byte, keys *Keyring) (PeerUpdate, error) {
	if len(b) != PeerUpdateSize || binary.BigEndian.Uint16(b) != peerUpdateMagic || b[2] != version {
		return PeerUpdate{}, ErrMalformed
	}
	k, ok := keys.Find(b[4])
	if !ok || siphash.Hash(k.k0, k.k1, b[:peerUpdateSigned]) != binary.LittleEndian.Uint64(b[peerUpdateSigned:]) {
		return PeerUpdate{}, ErrForged
	}
	u := PeerUpdate{From: netip.AddrFrom4([4]byte(b[8:12])), Sequence: binary.BigEndian.Uint64(b[16:])}
	for i, v := range sumFields(&u.Sums) {
		*v = math.Float64frombits(binary.BigEndian.Uint64(b[24+8*i:]))
		if math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0 {
			return PeerUpdate{}, ErrMalformed
		}
	}
	return u, nil
}

// sumFields are the fields in the order of the payload.
func sumFields(s *law.Sums) [6]*float64 {
	return [...]*float64{&s.Priced, &s.InversePrices, &s.WithLoss, &s.LossIntervals, &s.SendRate, &s.Weight}
}

package management

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/dchest/siphash"
)

// Size of a management packet, the UDP payload; the last eight bytes are the tag.
const (
	Size   = 72
	signed = 64

	magic   = 0x4956
	version = 1
)

// Kind of a packet.
type Kind uint8

// A PE sends requests; the PE at the far end returns an answer to each. The values are on the wire.
const (
	Request Kind = 1
	Answer  Kind = 2
)

// Packet is a management packet. Times are the sender's, in nanoseconds.
type Packet struct {
	Kind Kind
	// Key is the number of the key the tag was made with.
	Key uint8
	// Probe measures only the round-trip time: it does not queue with the flow's data.
	Probe bool
	// FlowIndex is the sender's index of the flow.
	FlowIndex uint32
	VPN       uint32
	// Ingress and Egress PE of the VPN flow; IPv4.
	Ingress, Egress netip.Addr
	Sequence        uint64
	Departure       uint64
	Sent            uint64
	Received        uint64
	ReceivedOctets  uint64
}

// Errors of Parse.
var (
	ErrMalformed = errors.New("not a management packet")
	ErrForged    = errors.New("the tag is wrong or its key unknown")
)

// Put writes a packet into 72 bytes, without the tag.
func (p Packet) Put(b []byte) {
	_ = b[Size-1]
	clear(b[:Size])
	binary.BigEndian.PutUint16(b, magic)
	b[2], b[3], b[4] = version, byte(p.Kind), p.Key
	if p.Probe {
		b[5] = 1
	}
	binary.BigEndian.PutUint32(b[8:], p.FlowIndex)
	binary.BigEndian.PutUint32(b[12:], p.VPN)
	in, out := p.Ingress.As4(), p.Egress.As4()
	copy(b[16:], in[:])
	copy(b[20:], out[:])
	for i, v := range []uint64{p.Sequence, p.Departure, p.Sent, p.Received, p.ReceivedOctets} {
		binary.BigEndian.PutUint64(b[24+8*i:], v)
	}
}

// Sign writes the tag.
func Sign(b []byte, k Key) {
	binary.LittleEndian.PutUint64(b[signed:], siphash.Hash(k.k0, k.k1, b[:signed]))
}

// Parse reads a packet and checks its tag.
func Parse(b []byte, keys *Keyring) (Packet, error) {
	if len(b) != Size || binary.BigEndian.Uint16(b) != magic || b[2] != version || (Kind(b[3]) != Request && Kind(b[3]) != Answer) {
		return Packet{}, ErrMalformed
	}
	k, ok := keys.Find(b[4])
	if !ok || siphash.Hash(k.k0, k.k1, b[:signed]) != binary.LittleEndian.Uint64(b[signed:]) {
		return Packet{}, ErrForged
	}
	p := Packet{
		Kind: Kind(b[3]), Key: b[4], Probe: b[5] == 1,
		FlowIndex: binary.BigEndian.Uint32(b[8:]), VPN: binary.BigEndian.Uint32(b[12:]),
		Ingress: netip.AddrFrom4([4]byte(b[16:20])), Egress: netip.AddrFrom4([4]byte(b[20:24])),
	}
	for i, v := range []*uint64{&p.Sequence, &p.Departure, &p.Sent, &p.Received, &p.ReceivedOctets} {
		*v = binary.BigEndian.Uint64(b[24+8*i:])
	}
	return p, nil
}

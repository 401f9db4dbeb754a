package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/peagent/bpf"
	"github.com/millrace/millrace/services/peagent/management"
)

// MaxLengths is how many prefix lengths of an address family a port looks up.
const MaxLengths = maxLengths

const (
	maxLengths   = 16
	endOfLengths = 255
)

// Lengths are the prefix lengths of a VPN's routes.
type Lengths struct{ IPv4, IPv6 []int }

// Add adds the length of a prefix.
func (l *Lengths) Add(p netip.Prefix) {
	of := &l.IPv4
	if p.Addr().Is6() {
		of = &l.IPv6
	}
	if !slices.Contains(*of, p.Bits()) {
		*of = append(*of, p.Bits())
	}
}

// SetPort assigns an interface to a VPN whose routes have these prefix lengths.
func (d *Datapath) SetPort(index int, vpn uint32, lengths Lengths) error {
	p := bpf.PePort{Vpn: vpn}
	for _, of := range []struct {
		to   *[maxLengths]uint8
		from []int
	}{{&p.Lengths, lengths.IPv4}, {&p.Lengths6, lengths.IPv6}} {
		from := slices.Compact(slices.Sorted(slices.Values(of.from)))
		slices.Reverse(from)
		if len(from) > maxLengths {
			return fmt.Errorf("VPN %d has routes of %d different prefix lengths; the datapath supports %d: aggregate some",
				vpn, len(from), maxLengths)
		}
		for i := range of.to {
			of.to[i] = endOfLengths
			if i < len(from) {
				of.to[i] = uint8(from[i])
			}
		}
	}
	return bpfmap.Put(d.Ports, uint32(index), p)
}

// RemovePort removes an interface from its VPN.
func (d *Datapath) RemovePort(index int) error { return ignoreMissing(d.Ports.Delete(uint32(index))) }

func prefixKey(vpn uint32, p netip.Prefix) bpf.PePrefix {
	return bpf.PePrefix{Vpn: vpn, Address: word(p.Masked().Addr()), Length: uint32(p.Bits())}
}

func prefixKey6(vpn uint32, p netip.Prefix) bpf.PePrefix6 {
	b := p.Masked().Addr().As16()
	return bpf.PePrefix6{
		Vpn: vpn, Length: uint32(p.Bits()), Address: [2]uint64{binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])},
	}
}

// SetPrefix maps the packets to and from a prefix of a VPN to a flow index.
func (d *Datapath) SetPrefix(vpn uint32, p netip.Prefix, flow uint32) error {
	if p.Addr().Is6() {
		return bpfmap.Put(d.Prefixes6, prefixKey6(vpn, p), flow)
	}
	return bpfmap.Put(d.Prefixes, prefixKey(vpn, p), flow)
}

// RemovePrefix removes a prefix.
func (d *Datapath) RemovePrefix(vpn uint32, p netip.Prefix) error {
	if p.Addr().Is6() {
		return ignoreMissing(d.Prefixes6.Delete(prefixKey6(vpn, p)))
	}
	return ignoreMissing(d.Prefixes.Delete(prefixKey(vpn, p)))
}

// SetPeer maps a peer's requests for a VPN to a flow index.
func (d *Datapath) SetPeer(vpn uint32, pe netip.Addr, flow uint32) error {
	return bpfmap.Put(d.Peers, bpf.PePeer{Vpn: vpn, Pe: word(pe)}, flow)
}

// RemovePeer removes a peer.
func (d *Datapath) RemovePeer(vpn uint32, pe netip.Addr) error {
	return ignoreMissing(d.Peers.Delete(bpf.PePeer{Vpn: vpn, Pe: word(pe)}))
}

// SetKeys installs a keyring.
func (d *Datapath) SetKeys(r *management.Keyring) error {
	for id := range uint8(management.MaxKeys) {
		var v bpf.PeKey
		if k, ok := r.Find(id); ok {
			v = bpf.PeKey{K: k.Words(), Valid: 1}
		}
		if err := bpfmap.Put(d.Keys, uint32(id), v); err != nil {
			return fmt.Errorf("install key %d: %w", id, err)
		}
	}
	return nil
}

// CounterNames are the names of the programs' counters, in the order of enum count in pe.h.
var CounterNames = []string{
	"stamped", "reflected", "answered", "malformed", "forged", "unknown_flow", "stale", "not_ip", "no_prefix", "fail_open",
}

// Count sums a counter over the processors.
func (d *Datapath) Count(counter int) (sum uint64, err error) {
	var per []uint64
	if err := d.Counts.Lookup(uint32(counter), &per); err != nil {
		return 0, fmt.Errorf("read counter: %w", err)
	}
	for _, v := range per {
		sum += v
	}
	return sum, nil
}

// word is an address in network byte order, as the programs load it from a packet.
func word(a netip.Addr) uint32 {
	b := a.As4()
	return binary.LittleEndian.Uint32(b[:])
}

// Word is an address in network byte order, as in the control map.
func Word(a netip.Addr) uint32 { return word(a) }

// Address is what Word was made of.
func Address(word uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.LittleEndian.AppendUint32(nil, word)))
}

// ignoreMissing: an entry that is not there need not be removed.
func ignoreMissing(err error) error {
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	return err
}

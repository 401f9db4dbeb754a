package datapath

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/services/peagent/bpf"
)

// Pinned is what an earlier agent left in the maps.
type Pinned struct {
	// Ports are VPN ids by interface index.
	Ports map[int]uint32
	// Prefixes are flow indices by VPN id and prefix.
	Prefixes map[uint32]map[netip.Prefix]uint32
}

// Pinned reads the maps.
func (d *Datapath) Pinned() (Pinned, error) {
	p := Pinned{Ports: map[int]uint32{}, Prefixes: map[uint32]map[netip.Prefix]uint32{}}
	add := func(vpn uint32, a netip.Addr, bits, flow uint32) {
		if p.Prefixes[vpn] == nil {
			p.Prefixes[vpn] = map[netip.Prefix]uint32{}
		}
		p.Prefixes[vpn][netip.PrefixFrom(a, int(bits))] = flow
	}
	return p, errors.Join(
		each(d.Ports, func(index uint32, port bpf.PePort) { p.Ports[int(index)] = port.Vpn }),
		each(d.Prefixes, func(k bpf.PePrefix, flow uint32) {
			add(k.Vpn, Address(k.Address), k.Length, flow)
		}),
		each(d.Prefixes6, func(k bpf.PePrefix6, flow uint32) {
			b := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, k.Address[0]), k.Address[1])
			add(k.Vpn, netip.AddrFrom16([16]byte(b)), k.Length, flow)
		}),
	)
}

// each calls do for every entry of a map.
func each[K, V any](m *ebpf.Map, do func(K, V)) error {
	var k K
	var v V
	it := m.Iterate()
	for it.Next(&k, &v) {
		do(k, v)
	}
	return it.Err()
}

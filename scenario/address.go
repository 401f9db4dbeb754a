package scenario

import "net/netip"

// The address plan. A scenario states its hosts' addresses; everything else follows from the order of the file, so
// that two runs of a scenario differ in nothing.
const (
	// ManagementBits is the prefix length of the management network.
	ManagementBits = 24
	// SRGBFirst and SRGBLast bound the segment routing global block (RFC 8402) of every router.
	SRGBFirst, SRGBLast = 16000, 23999
)

var firstNode = netip.MustParseAddr("172.31.255.11")

// ManagementAddress is the node's address on the management network: .11 for
// the first router of the file, then the other routers, then the hosts.
func (s *Scenario) ManagementAddress(node string) netip.Addr {
	addr := firstNode
	for _, name := range s.Nodes() {
		if name == node {
			return addr
		}
		addr = addr.Next()
	}
	return netip.Addr{}
}

// Loopback is the router id and the prefix of the node SID.
func (r Router) Loopback() netip.Addr {
	return netip.AddrFrom4([4]byte{10, 255, 0, byte(r.Index)})
}

// NodeSID is the MPLS label that leads to the router.
func (r Router) NodeSID() int { return SRGBFirst + r.Index }

// LinkAddresses gives both ends of the n-th link their prefixes. Core links are numbered
// 10.254.<n>.0/30; an access link takes the host's.
func (s *Scenario) LinkAddresses(n int) (a, b netip.Prefix) {
	l := s.Links[n]
	if host, ok := s.Host(l.A.Node); ok {
		return host.Address, netip.PrefixFrom(host.Gateway, host.Address.Bits())
	}
	if host, ok := s.Host(l.B.Node); ok {
		return netip.PrefixFrom(host.Gateway, host.Address.Bits()), host.Address
	}
	at := func(last byte) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 254, byte(n), last}), 30)
	}
	return at(1), at(2)
}

// InterfaceAddress is the address of one end of a link.
func (s *Scenario) InterfaceAddress(e Endpoint) netip.Prefix {
	for i, l := range s.Links {
		a, b := s.LinkAddresses(i)
		switch e {
		case l.A:
			return a
		case l.B:
			return b
		}
	}
	return netip.Prefix{}
}

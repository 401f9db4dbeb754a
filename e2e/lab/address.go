package lab

import (
	"fmt"
	"net/netip"

	"github.com/millrace/millrace/e2e/scenario"
)

// The management network. Every lab has a network namespace of its own, so the
// addresses are the same in each.
const (
	managementBits = 24
	controlPort    = 7 // the guest's protocol; below 1024, so no node program takes it
	agentPort      = 9339
	netflowPort    = 2055
)

var (
	// ControllerAddress is the lab netns' end: where the control plane listens.
	ControllerAddress = netip.MustParseAddr("172.31.255.1")
	guestAddress      = netip.MustParseAddr("172.31.255.2")
	firstNode         = netip.MustParseAddr("172.31.255.11")
	// SRGB and loopbacks are fixed, so that a router's node SID can be read off its name's place.
	srgbFirst, srgbLast = 16000, 23999
)

// ManagementAddress is the node's address on the management network: .11 for
// the first router of the file, then the other routers, then the hosts.
func ManagementAddress(s *scenario.Scenario, node string) netip.Addr {
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
func Loopback(r scenario.Router) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 255, 0, byte(r.Index)})
}

// NodeSID is the MPLS label that leads to the router.
func NodeSID(r scenario.Router) int { return srgbFirst + r.Index }

// addresses gives both ends of a link their prefixes. Core links are numbered
// 10.254.<n>.0/30 by their place in the file; an access link takes the host's.
func addresses(s *scenario.Scenario, place int) (a, b netip.Prefix) {
	l := s.Links[place]
	if host, ok := s.Host(l.A.Node); ok {
		return host.Address, netip.PrefixFrom(host.Gateway, host.Address.Bits())
	}
	if host, ok := s.Host(l.B.Node); ok {
		return netip.PrefixFrom(host.Gateway, host.Address.Bits()), host.Address
	}
	at := func(last byte) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 254, byte(place), last}), 30)
	}
	return at(1), at(2)
}

// mac makes a stable, locally administered address, so that two runs of a
// scenario differ in nothing.
func mac(kind, place, side int) string {
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:01", 0x4d, kind, place, side)
}

// InterfaceAddress is the address of one end of a link.
func InterfaceAddress(s *scenario.Scenario, e scenario.Endpoint) netip.Prefix {
	for i, l := range s.Links {
		a, b := addresses(s, i)
		switch e {
		case l.A:
			return a
		case l.B:
			return b
		}
	}
	return netip.Prefix{}
}

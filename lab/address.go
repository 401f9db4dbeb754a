package lab

import (
	"fmt"
	"net/netip"
)

// The management network. Every lab has a network namespace of its own, so the
// addresses are the same in each; scenario/address.go numbers the nodes.
const (
	controlPort = 7 // the guest's protocol; below 1024, so no node program takes it
	agentPort   = 9339
	netflowPort = 2055
)

var (
	// ControllerAddress is the lab netns' end: where the control plane listens.
	ControllerAddress = netip.MustParseAddr("172.31.255.1")
	guestAddress      = netip.MustParseAddr("172.31.255.2")
)

// mac makes a stable, locally administered address, so that two runs of a
// scenario differ in nothing.
func mac(kind, place, side int) string {
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:01", 0x4d, kind, place, side)
}

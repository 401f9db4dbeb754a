// Package topo is the network as a graph: routers, directed links, originated
// prefixes, in Millrace's own types.
//
// In: millrace.topology.v1.TopologySnapshot (or its parts, from a link-state
// database). Out: a Graph to compute on and to look routers up in. Next:
// services/paths, which computes; collectors/topology, which fills it.
//
// Mutation testing: 51 of 52 killed (docs/reference/mutants.md).
package topo

import (
	"net/netip"
	"time"
)

// Node is one router.
type Node struct {
	// ID is the OSPF router id.
	ID netip.Addr
	// Name in the inventory; empty for a router Millrace does not manage.
	Name string
	// Loopback is the /32 that carries the node's prefix SID; invalid where unknown.
	Loopback netip.Addr
	// SIDLabel is the absolute MPLS label of the node SID; 0 where there is none.
	SIDLabel uint32
	// Prefixes are the stub networks of its router LSA.
	Prefixes []netip.Prefix
	// Interfaces are known for managed routers only.
	Interfaces []Interface
}

// Label is the name where there is one, else the router id.
func (n *Node) Label() string {
	if n.Name != "" {
		return n.Name
	}
	return n.ID.String()
}

// Interface is one port of a managed router.
type Interface struct {
	Name      string
	IfIndex   uint32
	Addresses []netip.Prefix
	// Speed in bit/s; 0 where unknown.
	Speed uint64
	Up    bool
}

// Link is one direction of an adjacency.
type Link struct {
	// ID is "<local router id>|<local address>", stable over restarts. On a
	// network with more than two routers "|<remote router id>" follows.
	ID string
	// From and To are router ids.
	From, To netip.Addr
	// LocalAddress and RemoteAddress are interface addresses; RemoteAddress may be invalid.
	LocalAddress, RemoteAddress netip.Addr
	// Interface is From's interface name; empty where From is not managed.
	Interface string
	// Metric is the IGP's cost, at least 1 (RFC 2328 section C.3).
	Metric   uint32
	TEMetric uint32
	// Bandwidth in bit/s; 0 where unknown.
	Bandwidth uint64
	// AdjacencySID is the label that leads over this link; 0: none.
	AdjacencySID uint32
	// Delay one way in microseconds; 0 where unknown.
	Delay uint32
	// RiskGroups are its shared risk link groups (RFC 4202).
	RiskGroups []uint32
	// AdminGroups has a bit for each administrative group (RFC 7308) that it is in, 0 to 63.
	AdminGroups uint64
}

// Snapshot is one area's database at one time.
type Snapshot struct {
	// Area such as 0.0.0.0.
	Area  string
	Nodes []Node
	Links []Link
	Time  time.Time
	// Source is the device whose database it is.
	Source string
}

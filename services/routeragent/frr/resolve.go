package frr

import (
	"fmt"
	"net/netip"

	"github.com/millrace/millrace/services/routeragent/intent"
)

// Resolve turns an explicit path into its label stack. A strict hop is a node SID
// where the direct link is the IGP's only shortest path, because node SIDs
// survive restarts and the IGP repairs them; else it is the link's adjacency SID.
// A loose hop is always a node SID.
//
// The hops of a computed path are the node SIDs of services/paths/segments,
// segments.go, as loopbacks: their labels are known only to the router.
func (db *Database) Resolve(hops []intent.Hop) ([]uint32, error) {
	var lastErr error
	for _, area := range db.AreaNames() {
		labels, err := resolveIn(db.Areas[area], db.Self, hops)
		if err == nil {
			return labels, nil
		}
		lastErr = err
	}
	if lastErr == nil {
		lastErr = fmt.Errorf("FRR has no OSPF database")
	}
	return nil, lastErr
}

func resolveIn(area map[netip.Addr]*Node, self netip.Addr, hops []intent.Hop) ([]uint32, error) {
	at := area[self]
	if at == nil {
		return nil, fmt.Errorf("this router (%s) is not in its own database", self)
	}
	var labels []uint32
	for _, hop := range hops {
		next := owner(area, hop.Address)
		if next == nil {
			return nil, fmt.Errorf("no router of the area has address %s", hop.Address)
		}
		if next == at {
			continue
		}
		label, err := segment(area, at, next, hop)
		if err != nil {
			return nil, err
		}
		labels = append(labels, label)
		at = next
	}
	if len(labels) == 0 {
		return nil, fmt.Errorf("the path does not leave this router")
	}
	return labels, nil
}

// owner finds the router that has an address: router id, loopback or an end of a link.
func owner(area map[netip.Addr]*Node, a netip.Addr) *Node {
	if n := area[a]; n != nil {
		return n
	}
	for _, n := range area {
		if n.Loopback == a {
			return n
		}
		for _, l := range n.Links {
			if l.Local == a {
				return n
			}
		}
		for _, p := range n.Prefixes {
			if p.Prefix.Bits() == 32 && p.Prefix.Addr() == a {
				return n
			}
		}
	}
	return nil
}

func segment(area map[netip.Addr]*Node, at, next *Node, hop intent.Hop) (uint32, error) {
	if !hop.Strict {
		return nodeSID(at, next)
	}
	links := direct(at, next, hop.Address)
	if len(links) == 0 {
		return 0, fmt.Errorf("strict hop %s: no link from %s to %s", hop.Address, at.ID, next.ID)
	}
	dist, paths := shortest(area, at.ID, next.ID)
	for _, l := range links {
		if len(links) == 1 && paths == 1 && dist == l.Metric && next.HasSID {
			return nodeSID(at, next)
		}
		if l.Adjacency != 0 {
			return l.Adjacency, nil
		}
	}
	return 0, fmt.Errorf("strict hop %s: the link from %s to %s has no adjacency SID", hop.Address, at.ID, next.ID)
}

// direct lists the links to a neighbour, or only the one whose far end is the hop's address.
func direct(at, next *Node, address netip.Addr) []Link {
	var all, exact []Link
	for _, l := range at.Links {
		if l.Neighbor != next.ID {
			continue
		}
		all = append(all, l)
		if l.Remote == address {
			exact = append(exact, l)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return all
}

func nodeSID(at, next *Node) (uint32, error) {
	if !next.HasSID {
		return 0, fmt.Errorf("router %s has no node SID", next.ID)
	}
	if next.Index >= at.SRGBSize {
		return 0, fmt.Errorf("SID index %d of %s is outside the SRGB of %s", next.Index, next.ID, at.ID)
	}
	return at.SRGBLower + next.Index, nil
}

// shortest is the IGP distance between two routers and the number of equal-cost
// paths. services/paths/compute, spf.go, computes on the whole network; this is the
// network as this router knows it. lab/shortest.go is an oracle independent of both.
func shortest(area map[netip.Addr]*Node, from, to netip.Addr) (uint32, int) {
	dist, paths, done := map[netip.Addr]uint32{from: 0}, map[netip.Addr]int{from: 1}, map[netip.Addr]bool{}
	for {
		var at netip.Addr
		for id, d := range dist {
			if !done[id] && (!at.IsValid() || d < dist[at]) {
				at = id
			}
		}
		if !at.IsValid() || at == to {
			return dist[to], paths[to]
		}
		done[at] = true
		for _, l := range area[at].Links {
			if area[l.Neighbor] == nil {
				continue
			}
			d, seen := dist[l.Neighbor]
			switch via := dist[at] + l.Metric; {
			case !seen || via < d:
				dist[l.Neighbor], paths[l.Neighbor] = via, paths[at]
			case via == d:
				paths[l.Neighbor] += paths[at]
			}
		}
	}
}

package topo

import "net/netip"

// PrefixOwners finds the routers that originate a prefix: those with the longest
// originated prefix that covers it, or, where none does, those that originate a
// part of it (an alpha pair's /24 may be cut into smaller subnets at the site).
func (g *Graph) PrefixOwners(p netip.Prefix) []*Node {
	p = p.Masked()
	var best, parts []*Node
	longest := -1
	for _, n := range g.nodes {
		bits, part := n.match(p)
		switch {
		case bits > longest:
			longest, best = bits, []*Node{n}
		case bits >= 0 && bits == longest:
			best = append(best, n)
		}
		if part {
			parts = append(parts, n)
		}
	}
	if longest >= 0 {
		return best
	}
	return parts
}

// match returns the length of n's longest prefix that covers p (-1: none), and
// whether n originates a part of p.
func (n *Node) match(p netip.Prefix) (bits int, part bool) {
	bits = -1
	for _, q := range n.originated() {
		if !q.Overlaps(p) {
			continue
		}
		if q.Bits() <= p.Bits() {
			bits = max(bits, q.Bits())
		} else {
			part = true
		}
	}
	return bits, part
}

func (n *Node) originated() []netip.Prefix {
	if !n.Loopback.IsValid() {
		return n.Prefixes
	}
	own := netip.PrefixFrom(n.Loopback, n.Loopback.BitLen())
	return append(n.Prefixes[:len(n.Prefixes):len(n.Prefixes)], own)
}

package topology

import (
	"net/netip"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/topo"
)

// assemble adds names, interfaces, speeds and the configured facts to the content of a link-state database. interfaces
// is by device name.
func assemble(s topo.Snapshot, inv *device.Inventory, interfaces map[string][]topo.Interface, facts []LinkFacts) topo.Snapshot {
	s.Nodes, s.Links = slices.Clone(s.Nodes), slices.Clone(s.Links)
	byID := map[netip.Addr]*topo.Node{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if d, ok := deviceOf(n, inv); ok {
			n.Name = d.Name
			n.Interfaces = interfaces[d.Name]
			if !n.Loopback.IsValid() {
				n.Loopback = d.Loopback
			}
		}
		byID[n.ID] = n
	}
	for i := range s.Links {
		l := &s.Links[i]
		if n := byID[l.From]; n != nil {
			nameInterface(l, n.Interfaces)
		}
		if !l.RemoteAddress.IsValid() {
			l.RemoteAddress = farEnd(s.Links, l)
		}
	}
	for _, f := range facts {
		f.tell(s.Links, byID)
	}
	return s
}

// tell says of links what is known of them. Where several facts are of one link, the last counts.
func (f LinkFacts) tell(links []topo.Link, nodes map[netip.Addr]*topo.Node) {
	is := func(name string, id netip.Addr) bool {
		return name == id.String() || nodes[id] != nil && name == nodes[id].Name
	}
	far := map[netip.Addr]bool{}
	for _, l := range links {
		if is(f.A, l.From) && is(f.Z, l.To) && l.Interface == f.Interface {
			far[l.RemoteAddress] = true
		}
	}
	for i := range links {
		l := &links[i]
		there := is(f.A, l.From) && is(f.Z, l.To) && (f.Interface == "" || l.Interface == f.Interface)
		back := is(f.Z, l.From) && is(f.A, l.To) && (f.Interface == "" || far[l.LocalAddress])
		if there || back {
			l.Delay, l.RiskGroups, l.AdminGroups = uint32(f.Delay/time.Microsecond), f.RiskGroups, topo.Groups(f.AdminGroups)
		}
	}
}

// deviceOf finds the inventory's entry by loopback, which is router id and SID prefix alike.
func deviceOf(n *topo.Node, inv *device.Inventory) (device.Device, bool) {
	for _, d := range inv.Devices {
		if d.Loopback.IsValid() && (d.Loopback == n.ID || d.Loopback == n.Loopback) {
			return d, true
		}
	}
	return device.Device{}, false
}

// nameInterface finds the link's port by its address. The port's own rate is
// better than the one advertised: schedulers work with it.
func nameInterface(l *topo.Link, ports []topo.Interface) {
	for _, p := range ports {
		for _, a := range p.Addresses {
			if a.Addr() != l.LocalAddress {
				continue
			}
			l.Interface = p.Name
			if p.Speed > 0 {
				l.Bandwidth = p.Speed
			}
			return
		}
	}
}

// farEnd finds the address at the other end from the link back, where that is
// the only one between the two routers; the link back may name our address.
func farEnd(links []topo.Link, l *topo.Link) netip.Addr {
	var only netip.Addr
	n := 0
	for _, back := range links {
		if back.From != l.To || back.To != l.From {
			continue
		}
		if back.RemoteAddress == l.LocalAddress {
			return back.LocalAddress
		}
		only = back.LocalAddress
		n++
	}
	if n == 1 {
		return only
	}
	return netip.Addr{}
}

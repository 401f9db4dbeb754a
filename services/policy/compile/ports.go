package compile

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/services/policy/document"
)

// schedulePorts gives queues to the ports the policy names; ports on a pair's path get theirs with the pair.
func (c *compiler) schedulePorts() {
	for _, r := range c.in.Routers {
		if !r.Managed || c.in.Policy.Ports == document.PortsPath {
			continue
		}
		for _, name := range c.corePorts(r) {
			c.draft(r.Name).port(c.iface(r, name))
		}
		if c.in.Policy.Ports == document.PortsAll {
			for _, i := range c.customerPorts(r) {
				c.draft(r.Name).port(i)
			}
		}
	}
}

// corePorts are the interfaces that are links, in order.
func (c *compiler) corePorts(r Router) []string { return slices.Sorted(maps.Keys(c.core[r.Name])) }

func names(list []Interface) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Name
	}
	return out
}

func (c *compiler) iface(r Router, name string) Interface {
	for _, i := range r.Interfaces {
		if i.Name == name {
			return i
		}
	}
	return Interface{Name: name}
}

// customerPorts are the interfaces that carry traffic and are no links.
func (c *compiler) customerPorts(r Router) []Interface {
	var out []Interface
	for _, i := range r.Interfaces {
		if !c.core[r.Name][i.Name] && i.carriesTraffic(r) {
			out = append(out, i)
		}
	}
	return out
}

// carriesTraffic leaves out loopbacks, ports without an address and the management port.
func (i Interface) carriesTraffic(r Router) bool {
	routed := false
	for _, a := range i.Addresses {
		if a.Addr() == r.Loopback || a.Addr().IsLoopback() || a.Addr() == r.Management {
			return false
		}
		routed = routed || (!a.Addr().IsLinkLocalUnicast() && !a.IsSingleIP())
	}
	return routed
}

// destinationPorts are those with an address in the destination prefix; if it
// is attached further on, all customer ports.
func (c *compiler) destinationPorts(r Router, dst netip.Prefix) []Interface {
	customers := c.customerPorts(r)
	var out []Interface
	for _, i := range customers {
		if slices.ContainsFunc(i.Addresses, dst.Overlaps) {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return customers
	}
	return out
}

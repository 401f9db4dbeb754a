package intent

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

func (c *compiler) ni(names ...string) view {
	return c.root.at("network-instances", "network-instance").entry("DEFAULT").at(names...)
}

// readTunnels reads the LSPs with their explicit paths.
func (c *compiler) readTunnels() error {
	paths := map[string]view{}
	for _, p := range c.ni("mpls", "lsps", "constrained-path", "named-explicit-paths", "named-explicit-path").entries() {
		paths[p.text("name")] = p
	}
	for _, t := range c.ni("mpls", "lsps", "constrained-path", "tunnels", "tunnel").entries() {
		tunnel, err := c.readTunnel(t, paths)
		if err != nil {
			return err
		}
		c.tunnels = append(c.tunnels, tunnel)
	}
	slices.SortFunc(c.tunnels, func(a, b Tunnel) int { return cmp.Compare(a.ID, b.ID) })
	return c.readGroups()
}

func (c *compiler) readTunnel(t view, paths map[string]view) (Tunnel, error) {
	out := Tunnel{Name: t.text("name")}
	if !ownName(out.Name) {
		return out, unsupported(t.path, "tunnels are named te-… (letters, digits, '-', '.', '_')")
	}
	if p := t.text("config", "signaling-protocol"); p != "PATH_SETUP_SR" {
		return out, unsupported(t.path+"/config/signaling-protocol", "is %q; only PATH_SETUP_SR is implemented", p)
	}
	if k := t.text("config", "type"); k != "P2P" {
		return out, unsupported(t.path+"/config/type", "is %q; only P2P is implemented", k)
	}
	var err error
	if out.Destination, err = netip.ParseAddr(t.text("p2p-tunnel-attributes", "config", "destination")); err != nil {
		return out, invalid(t.path+"/p2p-tunnel-attributes/config/destination", "needs an address")
	}
	primaries := t.at("p2p-tunnel-attributes", "p2p-primary-path", "p2p-primary-path").entries()
	if len(primaries) != 1 {
		return out, unsupported(t.path+"/p2p-tunnel-attributes/p2p-primary-path", "has %d paths; exactly one is implemented", len(primaries))
	}
	primary := primaries[0]
	if m := primary.text("config", "path-computation-method"); m != "EXPLICITLY_DEFINED" {
		return out, unsupported(primary.path+"/config/path-computation-method", "is %q; only EXPLICITLY_DEFINED is implemented", m)
	}
	out.Path = primary.text("config", "explicit-path-name")
	path, ok := paths[out.Path]
	if !ok {
		return out, invalid(primary.path+"/config/explicit-path-name", "there is no named-explicit-path %q", out.Path)
	}
	if out.Hops, err = readHops(path, out.Destination); err != nil {
		return out, err
	}
	if out.ID, ok = c.ids.path(out.Name); !ok {
		return out, tooMany(t.path, kernel.MaxPath, "tunnels")
	}
	return out, nil
}

// ownName keeps names safe to write into FRR's configuration.
func ownName(s string) bool {
	if len(s) < 4 || len(s) > 60 || s[:3] != "te-" {
		return false
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_') {
			return false
		}
	}
	return true
}

// readHops reads an explicit path. IPv4 hops are routers, found in the IGP's
// database; the destination is the last. IPv6 hops are the segments of SRv6
// themselves, and the last one decapsulates.
func readHops(path view, destination netip.Addr) ([]Hop, error) {
	var out []Hop
	for _, o := range path.at("explicit-route-objects", "explicit-route-object").entries() {
		a, err := netip.ParseAddr(o.text("config", "address"))
		if err != nil {
			return nil, invalid(o.path+"/config/address", "needs an address")
		}
		if len(out) > 0 && a.Is4() != out[0].Address.Is4() {
			return nil, invalid(o.path+"/config/address", "mixes IPv4 hops (SR-MPLS) with IPv6 segments (SRv6)")
		}
		out = append(out, Hop{Address: a, Strict: o.text("config", "hop-type") != "LOOSE"})
	}
	switch {
	case len(out) == 0:
		return nil, invalid(path.path+"/explicit-route-objects", "names no hop")
	case out[0].Address.Is6():
		if len(out) > maxSegments {
			return nil, unsupported(path.path, "%d segments; %d are implemented", len(out), maxSegments)
		}
		return out, nil
	case !destination.Is4():
		return nil, invalid(path.path, "leads over IPv4 hops to the IPv6 destination %s", destination)
	}
	if out[len(out)-1].Address != destination {
		out = append(out, Hop{Address: destination})
	}
	return out, nil
}

// maxSegments keeps the inner header within the bytes that the classifiers of other routers parse.
const maxSegments = 5

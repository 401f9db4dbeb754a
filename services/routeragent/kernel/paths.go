package kernel

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// families are the address families that a path may carry.
var families = []int{unix.AF_INET, unix.AF_INET6}

// pathsOf are the paths of one family; only SRv6 carries IPv6.
func (s Spec) pathsOf(family int) []int {
	if family == unix.AF_INET {
		return s.Paths
	}
	return s.made()
}

// made are the ids of the paths whose route we add: those of SRv6.
func (s Spec) made() []int { return slices.Sorted(maps.Keys(s.Segments)) }

// route is the default route of a path in its table.
func (k *Kernel) route(s Spec, id, family int) (*netlink.Route, error) {
	r := &netlink.Route{Table: TableBase + id, Protocol: RouteProtocol, Family: family, Dst: everywhere(family)}
	segments := s.Segments[id]
	link, gateway, err := k.towards(segments[0])
	if err != nil {
		return nil, err
	}
	r.LinkIndex, r.Encap = link, seg6(segments)
	if family == unix.AF_INET6 {
		r.Gw = gateway
	}
	return r, nil
}

// throws are routes that end the lookup of encapsulated packets in the path's IPv6
// table: they still have the mark, and would be encapsulated again without end.
func (s Spec) throws(id, family int) []*netlink.Route {
	if family != unix.AF_INET6 {
		return nil
	}
	return []*netlink.Route{{Table: TableBase + id, Protocol: RouteProtocol, Family: family, Type: unix.RTN_THROW,
		Dst: &net.IPNet{IP: s.Segments[id][0].AsSlice(), Mask: net.CIDRMask(128, 128)}}}
}

func everywhere(family int) *net.IPNet {
	if family == unix.AF_INET6 {
		return &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	}
	return &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
}

// seg6 encapsulates packets in IPv6 with a segment routing header; the kernel lists the last segment first.
func seg6(segments []netip.Addr) *netlink.SEG6Encap {
	e := &netlink.SEG6Encap{Mode: nl.SEG6_IPTUN_MODE_ENCAP}
	for _, s := range slices.Backward(segments) {
		e.Segments = append(e.Segments, s.AsSlice())
	}
	return e
}

// towards is the IGP's next hop to a segment. The kernel looks up the outer
// header again after encapsulation, but the route must have a next hop.
func (k *Kernel) towards(segment netip.Addr) (link int, gateway net.IP, err error) {
	routes, err := k.conn.RouteGet(segment.AsSlice())
	if err != nil {
		return 0, nil, fmt.Errorf("no route to segment %s: %w", segment, err)
	}
	if len(routes) == 0 {
		return 0, nil, fmt.Errorf("no route to segment %s", segment)
	}
	if gateway = routes[0].Gw; gateway == nil {
		gateway = segment.AsSlice()
	}
	return routes[0].LinkIndex, gateway, nil
}

// heldAt is a route of a path's table among those of all paths; nil if there is none.
func (k *Kernel) heldAt(routes []netlink.Route, id, family int, dst *net.IPNet) (*netlink.Route, error) {
	for _, r := range routes {
		if r.Table != TableBase+id {
			continue
		}
		if r.Dst == nil {
			r.Dst = everywhere(family)
		}
		if r.Dst.String() == dst.String() {
			return &r, k.fillSegments(&r, family)
		}
	}
	return nil, nil
}

// sameRoute compares next hops and their weights.
func sameRoute(a, b *netlink.Route) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Type == unix.RTN_THROW || b.Type == unix.RTN_THROW {
		return a.Type == b.Type && a.Protocol == b.Protocol
	}
	return a.Protocol == b.Protocol && routeText(a) == routeText(b)
}

func routeText(r *netlink.Route) string {
	if r == nil {
		return "missing"
	}
	nextHops := r.MultiPath
	if len(nextHops) == 0 {
		nextHops = []*netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Gw: r.Gw, Via: r.Via, Encap: r.Encap}}
	}
	var out []string
	for _, w := range nextHops {
		out = append(out, fmt.Sprintf("%d %s %v %v %d", w.LinkIndex, address(w.Gw), w.Via, w.Encap, w.Hops))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// eachMade visits the routes that we add, each with the route that the kernel has in its place.
func (k *Kernel) eachMade(s Spec, visit func(id int, want, have *netlink.Route) error) error {
	if len(s.made()) == 0 {
		return nil
	}
	for _, family := range families {
		routes, err := k.pathRoutes(family)
		if err != nil {
			return err
		}
		for _, id := range s.made() {
			if !slices.Contains(s.pathsOf(family), id) {
				continue
			}
			if err := k.eachMadeOf(s, id, family, routes, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *Kernel) eachMadeOf(s Spec, id, family int, routes []netlink.Route, visit func(id int, want, have *netlink.Route) error) error {
	want, err := k.route(s, id, family)
	if err != nil {
		return err
	}
	for _, w := range append(s.throws(id, family), want) {
		have, err := k.heldAt(routes, id, family, w.Dst)
		if err != nil {
			return err
		}
		if err := visit(id, w, have); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kernel) ensureRoutes(s Spec) error {
	return k.eachMade(s, func(id int, want, have *netlink.Route) error {
		if sameRoute(want, have) {
			return nil
		}
		return k.step(fmt.Sprintf("route path %d", id), func() error { return k.conn.RouteReplace(want) })
	})
}

func (k *Kernel) verifyRoutes(s Spec) error {
	return k.eachMade(s, func(id int, want, have *netlink.Route) error {
		if !sameRoute(want, have) {
			return fmt.Errorf("route of path %d is %s, not %s", id, routeText(have), routeText(want))
		}
		return nil
	})
}

// pruneRoutes removes our routes from tables whose path is gone or is FRR's now.
func (k *Kernel) pruneRoutes(s Spec) error {
	for _, family := range families {
		list, err := k.pathRoutes(family)
		if err != nil {
			return err
		}
		for _, r := range list {
			id := r.Table - TableBase
			if r.Protocol != RouteProtocol || slices.Contains(s.made(), id) && slices.Contains(s.pathsOf(family), id) {
				continue
			}
			if err := k.step(fmt.Sprintf("remove route of path %d", id), func() error { return k.conn.RouteDel(&r) }); err != nil {
				return err
			}
		}
	}
	return nil
}

package kernel

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// NextHop is one next hop of a route: its neighbour and interface, and the labels it pushes, top first.
type NextHop struct {
	Gateway, Interface string
	Labels             []int
	// Segments of SRv6, first to last.
	Segments []string
}

func (h NextHop) String() string {
	if len(h.Segments) > 0 {
		return fmt.Sprintf("dev %s segments %v", h.Interface, h.Segments)
	}
	return fmt.Sprintf("via %s dev %s labels %v", h.Gateway, h.Interface, h.Labels)
}

// Paths reads the default routes in the tables of all paths, by id; a path without one is absent. The kernel lists the
// routes of every table for one of them, so all are read at once.
func (k *Kernel) Paths() (map[int][]NextHop, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list, err := k.pathRoutes(unix.AF_INET)
	if err != nil {
		return nil, err
	}
	out := map[int][]NextHop{}
	for _, r := range list {
		if id := r.Table - TableBase; out[id] == nil && (r.Dst == nil || r.Dst.IP.IsUnspecified()) {
			out[id] = k.nextHops(r)
		}
	}
	return out, nil
}

// pathRoutes are the routes in the tables of paths.
func (k *Kernel) pathRoutes(family int) ([]netlink.Route, error) {
	k.conn.routeDumps++
	var out []netlink.Route
	err := k.conn.RouteListFilteredIter(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE, func(r netlink.Route) bool {
		if id := r.Table - TableBase; id > 0 && id <= MaxPath {
			out = append(out, r)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return out, nil
}

// Labels reads the routes of packets that arrive with one of the labels, by label, which is how this router forwards
// the first segment of an LSP; a label without a route is absent.
func (k *Kernel) Labels(labels []int) (map[int][]NextHop, error) {
	out := map[int][]NextHop{}
	if len(labels) == 0 {
		return out, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	list, err := k.labels()
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if r.MPLSDst != nil && out[*r.MPLSDst] == nil && slices.Contains(labels, *r.MPLSDst) {
			out[*r.MPLSDst] = k.nextHops(r)
		}
	}
	return out, nil
}

// labels are the routes of packets that arrive with a label.
func (k *Kernel) labels() ([]netlink.Route, error) {
	k.conn.routeDumps++
	list, err := k.conn.RouteList(nil, netlink.FAMILY_MPLS)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EAFNOSUPPORT) {
		return nil, nil
	}
	if err != nil {
		return list, fmt.Errorf("list label routes: %w", err)
	}
	return list, nil
}

// nextHops lists the next hops of a route in a stable order.
func (k *Kernel) nextHops(r netlink.Route) []NextHop {
	hops := r.MultiPath
	if len(hops) == 0 {
		hops = []*netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Gw: r.Gw, Via: r.Via, NewDst: r.NewDst, Encap: r.Encap}}
	}
	var out []NextHop
	for _, w := range hops {
		out = append(out, k.nextHop(w))
	}
	slices.SortFunc(out, func(a, b NextHop) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func (k *Kernel) nextHop(w *netlink.NexthopInfo) NextHop {
	h := NextHop{Gateway: address(w.Gw)}
	if via, ok := w.Via.(*netlink.Via); ok {
		h.Gateway = address(via.Addr)
	}
	if swap, ok := w.NewDst.(*netlink.MPLSDestination); ok && swap != nil {
		h.Labels = swap.Labels
	}
	if push, ok := w.Encap.(*netlink.MPLSEncap); ok {
		h.Labels = push.Labels
	}
	if push, ok := w.Encap.(*netlink.SEG6Encap); ok {
		for _, s := range slices.Backward(push.Segments) {
			h.Segments = append(h.Segments, s.String())
		}
	}
	if l, err := k.conn.LinkByIndex(w.LinkIndex); err == nil {
		h.Interface = l.Attrs().Name
	}
	return h
}

func address(ip net.IP) string {
	if ip == nil {
		return ""
	}
	return ip.String()
}

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

// Path reads the default route in the table of a path; nil if there is none.
func (k *Kernel) Path(id int) ([]NextHop, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list, err := k.conn.RouteListFiltered(unix.AF_INET, &netlink.Route{Table: TableBase + id}, netlink.RT_FILTER_TABLE)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("list routes of table %d: %w", TableBase+id, err)
	}
	for _, r := range list {
		if r.Dst == nil || r.Dst.IP.IsUnspecified() {
			return k.nextHops(r), nil
		}
	}
	return nil, nil
}

// Label reads the route of packets that arrive with a label, which is how this
// router forwards the first segment of an LSP; nil if there is none.
func (k *Kernel) Label(label int) ([]NextHop, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list, err := k.labels()
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if r.MPLSDst != nil && *r.MPLSDst == label {
			return k.nextHops(r), nil
		}
	}
	return nil, nil
}

// labels are the routes of packets that arrive with a label.
func (k *Kernel) labels() ([]netlink.Route, error) {
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

package kernel

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Link is an interface with its counters.
type Link struct {
	Name      string
	Index     int
	MTU       int
	MAC       string
	AdminUp   bool
	Up        bool
	Loopback  bool
	Addresses []netip.Prefix
	In, Out   LinkCounters
}

// LinkCounters of one direction.
type LinkCounters struct{ Octets, Packets, Discards, Errors uint64 }

// Links reads all interfaces and their IPv4 addresses: two dumps, whatever their number.
func (k *Kernel) Links() ([]Link, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	links, err := k.conn.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	addrs, err := k.conn.AddrList(nil, unix.AF_INET)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	byIndex := map[int][]netip.Prefix{}
	for _, a := range addrs {
		if ip, ok := netip.AddrFromSlice(a.IP.To4()); ok {
			bits, _ := a.Mask.Size()
			byIndex[a.LinkIndex] = append(byIndex[a.LinkIndex], netip.PrefixFrom(ip, bits))
		}
	}
	var out []Link
	for _, l := range links {
		out = append(out, newLink(l.Attrs(), byIndex[l.Attrs().Index]))
	}
	return out, nil
}

func newLink(a *netlink.LinkAttrs, addrs []netip.Prefix) Link {
	l := Link{
		Name: a.Name, Index: a.Index, MTU: a.MTU, MAC: strings.ToUpper(a.HardwareAddr.String()), Addresses: addrs,
		AdminUp: a.RawFlags&unix.IFF_UP != 0, Loopback: a.RawFlags&unix.IFF_LOOPBACK != 0,
	}
	// Loopbacks and tunnels report no carrier, only whether they run.
	l.Up = a.OperState == netlink.OperUp || (a.OperState == netlink.OperUnknown && a.RawFlags&unix.IFF_RUNNING != 0)
	if s := a.Statistics; s != nil {
		l.In = LinkCounters{s.RxBytes, s.RxPackets, s.RxDropped, s.RxErrors}
		l.Out = LinkCounters{s.TxBytes, s.TxPackets, s.TxDropped, s.TxErrors}
	}
	return l
}

// HasLink reports whether an interface exists, and whether it is a loopback. Where the kernel does not tell, it exists:
// what is bound to an interface that is gone is removed.
func (k *Kernel) HasLink(name string) (has, loopback bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, err := k.conn.LinkByName(name)
	return !noLink(err), err == nil && l.Attrs().RawFlags&unix.IFF_LOOPBACK != 0
}

// RouterUses tells what the router itself needs an interface for, without which it may lose its neighbours: an
// address, or labels whose packets leave there; empty if nothing.
func (k *Kernel) RouterUses(name string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, err := k.link(name)
	if err != nil {
		return "", err
	}
	addresses, err := k.conn.AddrList(l, netlink.FAMILY_ALL)
	for _, a := range addresses {
		if !a.IP.IsLinkLocalUnicast() {
			return "the router's own, with the address " + a.IPNet.String(), nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("list addresses of %s: %w", name, err)
	}
	routes, err := k.labels()
	if label, is := labelOver(routes, l.Attrs().Index); is {
		return fmt.Sprintf("the next hop of label %d", label), nil
	}
	return "", err
}

// labelOver finds a label whose packets leave at an interface.
func labelOver(routes []netlink.Route, index int) (label int, is bool) {
	over := func(w *netlink.NexthopInfo) bool { return w.LinkIndex == index }
	for _, r := range routes {
		if r.MPLSDst != nil && (r.LinkIndex == index || slices.ContainsFunc(r.MultiPath, over)) {
			return *r.MPLSDst, true
		}
	}
	return 0, false
}

// Watch sends when a link or a route changes; a burst of changes sends once. The
// channel closes when done closes, or when the kernel could not queue all
// messages: then call Watch again.
func (k *Kernel) Watch(done <-chan struct{}) (<-chan struct{}, error) {
	links, routes := make(chan netlink.LinkUpdate, 64), make(chan netlink.RouteUpdate, 64)
	stop := make(chan struct{})
	ns := k.conn.ns
	if err := netlink.LinkSubscribeWithOptions(links, stop, netlink.LinkSubscribeOptions{Namespace: &ns}); err != nil {
		return nil, fmt.Errorf("watch links: %w", err)
	}
	if err := netlink.RouteSubscribeWithOptions(routes, stop, netlink.RouteSubscribeOptions{Namespace: &ns}); err != nil {
		close(stop)
		return nil, fmt.Errorf("watch routes: %w", err)
	}
	wake := make(chan struct{}, 1)
	go func() {
		defer close(wake)
		defer close(stop)
		for ok := true; ok; {
			select {
			case _, ok = <-links:
			case _, ok = <-routes:
			case <-done:
				return
			}
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}()
	return wake, nil
}

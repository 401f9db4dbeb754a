package lab

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// converge waits until every router's kernel, not FRR's word for it, sends every
// prefix and every node SID out of the right interfaces, under a label. It ends early when the
// client hangs up.
func converge(c Convergence, in io.Reader, out *frames) error {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _, _ = readFrame(in)
	}()
	said := ""
	for {
		lacks, err := lacking(c)
		if err != nil {
			return err
		}
		if len(lacks) == 0 {
			return nil
		}
		if text := "wait for routes: " + strings.Join(lacks, ", ") + " to come"; text != said {
			said = text
			if err := out.send(frameProgress, []byte(text)); err != nil {
				return err
			}
		}
		select {
		case <-gone:
			return fmt.Errorf("not converged: %s", strings.Join(lacks, ", "))
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// lacking lists per router the routes that are missing or still take another path.
func lacking(c Convergence) ([]string, error) {
	var all []string
	for _, router := range c.Routers {
		routes, labels, err := kernelRoutes(router, len(c.Labels[router]) > 0)
		if err != nil {
			return nil, err
		}
		var wrong []string
		for prefix, want := range c.Routes[router] {
			if got := routes[prefix]; !slices.Equal(got, want) {
				wrong = append(wrong, fmt.Sprintf("%s by %v not %v", prefix, want, got))
			}
		}
		for label, want := range c.Labels[router] {
			if got := labels[label]; !slices.Equal(got, want) {
				wrong = append(wrong, fmt.Sprintf("label %d by %v not %v", label, want, got))
			}
		}
		if len(wrong) > 0 {
			all = append(all, fmt.Sprintf("%s (%d of %d, one is %s)", router, len(wrong), len(c.Routes[router])+len(c.Labels[router]), slices.Min(wrong)))
		}
	}
	return all, nil
}

// kernelRoutes reads the main table and the MPLS table: outgoing interfaces by
// prefix and by label.
func kernelRoutes(router string, mpls bool) (map[string][]string, map[int][]string, error) {
	ns, err := netns.GetFromName(router)
	if err != nil {
		return nil, nil, fmt.Errorf("open namespace %s: %w", router, err)
	}
	defer ns.Close()
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, nil, fmt.Errorf("open netlink in %s: %w", router, err)
	}
	defer h.Close()
	links, err := h.LinkList()
	if err != nil {
		return nil, nil, fmt.Errorf("list interfaces of %s: %w", router, err)
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	routes, labels := map[string][]string{}, map[int][]string{}
	list, err := h.RouteList(nil, unix.AF_INET)
	if err != nil {
		return nil, nil, fmt.Errorf("list routes of %s: %w", router, err)
	}
	for _, r := range list {
		if r.Dst != nil {
			routes[r.Dst.String()] = leaves(r, names)
		}
	}
	if !mpls {
		return routes, labels, nil
	}
	if list, err = h.RouteList(nil, unix.AF_MPLS); err != nil {
		return nil, nil, fmt.Errorf("list MPLS routes of %s: %w", router, err)
	}
	for _, r := range list {
		if r.MPLSDst != nil && !unresolved(r) {
			labels[*r.MPLSDst] = leaves(r, names)
		}
	}
	return routes, labels, nil
}

// unresolved reports a label that is swapped for label 0, which no router here advertises: FRR 8.4 writes
// it for a next hop whose SRGB it does not have yet, and that next hop would then route the payload below
// the label by itself.
func unresolved(r netlink.Route) bool {
	swaps := []netlink.Destination{r.NewDst}
	for _, hop := range r.MultiPath {
		swaps = append(swaps, hop.NewDst)
	}
	return slices.ContainsFunc(swaps, func(d netlink.Destination) bool {
		to, ok := d.(*netlink.MPLSDestination)
		return ok && len(to.Labels) > 0 && to.Labels[0] == 0
	})
}

func leaves(r netlink.Route, names map[int]string) []string {
	if len(r.MultiPath) == 0 {
		return []string{names[r.LinkIndex]}
	}
	var out []string
	for _, hop := range r.MultiPath {
		out = append(out, names[hop.LinkIndex])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

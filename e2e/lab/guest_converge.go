package lab

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// converge waits until every router's kernel, not FRR's word for it, holds a
// route to every prefix and an MPLS entry for every other router's node SID.
// It ends early when the client hangs up.
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
		if text := "wait for " + strings.Join(lacks, "; "); text != said {
			said = text
			if err := out.send(frameProgress, []byte(text)); err != nil {
				return err
			}
		}
		select {
		case <-gone:
			return fmt.Errorf("not converged: %s", strings.Join(lacks, "; "))
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// lacking says per router how much is missing.
func lacking(c Convergence) ([]string, error) {
	var all []string
	for _, router := range c.Routers {
		routes, labels, err := kernelRoutes(router, len(c.Labels) > 0)
		if err != nil {
			return nil, err
		}
		var missing []string
		for _, prefix := range c.Prefixes {
			if !slices.Contains(c.Own[router], prefix) && !routes[prefix] {
				missing = append(missing, prefix)
			}
		}
		for other, label := range c.Labels {
			if other != router && !labels[label] {
				missing = append(missing, fmt.Sprintf("label %d", label))
			}
		}
		if len(missing) > 0 {
			slices.Sort(missing)
			all = append(all, router+" lacks "+strings.Join(missing, ", "))
		}
	}
	return all, nil
}

// kernelRoutes reads the main table's prefixes and the MPLS table's labels.
func kernelRoutes(router string, mpls bool) (map[string]bool, map[int]bool, error) {
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
	routes, labels := map[string]bool{}, map[int]bool{}
	list, err := h.RouteList(nil, unix.AF_INET)
	if err != nil {
		return nil, nil, fmt.Errorf("list routes of %s: %w", router, err)
	}
	for _, r := range list {
		if r.Dst != nil {
			ones, _ := r.Dst.Mask.Size()
			routes[(&net.IPNet{IP: r.Dst.IP, Mask: net.CIDRMask(ones, 32)}).String()] = true
		}
	}
	if !mpls {
		return routes, labels, nil
	}
	list, err = h.RouteList(nil, unix.AF_MPLS)
	if err != nil {
		return nil, nil, fmt.Errorf("list MPLS routes of %s: %w", router, err)
	}
	for _, r := range list {
		if r.MPLSDst != nil {
			labels[*r.MPLSDst] = true
		}
	}
	return routes, labels, nil
}

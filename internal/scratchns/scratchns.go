// Package scratchns runs a function in a network namespace that is thrown away.
//
// In: a function that tries something on a kernel. Out: its result. Next: services/routeragent/kernel and
// services/peagent/datapath, which probe features of the kernel: kernel versions do not show what a vendor
// has backported.
package scratchns

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Port is the interface to try things on, one end of a veth pair.
const Port = "probe0"

// Run makes the namespace and Port in it, and calls try there.
func Run[T any](try func(netns.NsHandle) (T, error)) (T, error) {
	type result struct {
		found T
		err   error
	}
	done := make(chan result)
	go func() {
		// The thread changes namespace and is not given back: it ends with the goroutine.
		runtime.LockOSThread()
		found, err := here(try)
		done <- result{found, err}
	}()
	r := <-done
	return r.found, r.err
}

func here[T any](try func(netns.NsHandle) (T, error)) (none T, err error) {
	ns, err := netns.New()
	if err != nil {
		return none, fmt.Errorf("make a namespace to probe the kernel in: %w", err)
	}
	defer ns.Close()
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: Port}, PeerName: "probe1"}
	if err := netlink.LinkAdd(veth); err != nil {
		return none, fmt.Errorf("make an interface to probe the kernel with: %w", err)
	}
	return try(ns)
}

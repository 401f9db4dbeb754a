package labtest

import (
	"net"
	"net/netip"
	"runtime"
	"syscall"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Sender is a UDP socket in the peer's namespace whose packets go through the router.
type Sender struct {
	*net.UDPConn
}

// NewSender sends from 10.0.1.9, behind ge-a, to 10.0.2.9, behind ge-b, with a DSCP.
func (r *Router) NewSender(dscp int) Sender {
	r.t.Helper()
	if !r.routed {
		r.routed = true
		r.Run("ip", "-n", r.Peer, "link", "set", "ge-b", "address", "02:00:00:00:00:02")
		r.Run("ip", "-n", r.Peer, "addr", "add", "10.0.1.9/32", "dev", "lo")
		r.Run("ip", "-n", r.Peer, "rule", "add", "from", "10.0.1.9", "lookup", "100", "pref", "1")
		r.Run("ip", "-n", r.Peer, "route", "add", "default", "via", "10.0.1.1", "dev", "ge-a", "table", "100")
		r.Run("ip", "-n", r.Name, "neigh", "replace", "10.0.2.9", "lladdr", "02:00:00:00:00:02", "dev", "ge-b")
	}
	var s Sender
	r.within(r.Peer, func() error {
		c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("10.0.1.9:0")), net.UDPAddrFromAddrPort(netip.MustParseAddrPort("10.0.2.9:9")))
		if err != nil {
			return err
		}
		s.UDPConn = c
		raw, err := c.SyscallConn()
		if err != nil {
			return err
		}
		return raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_TOS, dscp<<2) })
	})
	r.t.Cleanup(func() { s.Close() })
	return s
}

// Send sends n datagrams, each an IP packet of a size in octets.
func (s Sender) Send(n, octets int) error {
	payload := make([]byte, octets-28)
	for range n {
		if _, err := s.Write(payload); err != nil {
			return err
		}
	}
	return nil
}

// within runs f on a thread of its own in a namespace.
func (r *Router) within(name string, f func() error) {
	r.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // not given back: the thread ends with the goroutine
		ns, err := netns.GetFromName(name)
		if err == nil {
			err = netns.Set(ns)
			ns.Close()
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		r.t.Fatal(err)
	}
}

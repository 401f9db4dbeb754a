// Package ports gives a test a port that no other process takes, for a program, or for a server that goes away and
// comes back.
//
// To listen on port 0, close, and pass the number on is a race: until the program listens, the kernel may give the
// number to any other test's listener, or to a connection that any program opens. Three things keep a port of this
// package free. It lies below net.ipv4.ip_local_port_range, from which the kernel takes ports for programs that bind to
// port 0. It is reserved among all tests of the machine by an abstract Unix socket of that name, which belongs to a
// network namespace, as ports do, and which the kernel frees when its process ends. And a port on which another program
// listens is skipped.
//
// In: a test. Out: a port number, for TCP and UDP on all addresses, until the test ends. Next: internal/testkit/kafka
// and tests that start programs.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
)

const (
	// first is above what services of a machine are found on.
	first = 10_000
	// most ports are looked at, and at least so many where the kernel's own range does not begin lower still.
	most, least = 20_000, 2000
)

// Reserve returns a port for the test.
func Reserve(t testing.TB) int {
	t.Helper()
	port, release, err := Take()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return port
}

// Loopback is host:port of a reserved port on 127.0.0.1.
func Loopback(t testing.TB) string {
	t.Helper()
	return Addr(Reserve(t))
}

// Addr is host:port of a port on 127.0.0.1.
func Addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Take is Reserve for programs that are no tests.
func Take() (port int, release func(), err error) {
	end, err := ephemeral()
	if err != nil {
		return 0, nil, err
	}
	begin, end := bounds(end)
	for i, offset := 0, rand.IntN(end-begin); i < end-begin; i++ {
		port := begin + (offset+i)%(end-begin)
		mine, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: "@millrace-test-port-" + strconv.Itoa(port)})
		if err != nil {
			continue // another test's
		}
		if unused(port) {
			return port, func() { _ = mine.Close() }, nil
		}
		_ = mine.Close()
	}
	return 0, nil, fmt.Errorf("no port from %d to %d is free", begin, end)
}

// ephemeral is the first port that the kernel gives to programs that bind port 0.
func ephemeral() (int, error) {
	raw, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, err
	}
	var low, high int
	if _, err := fmt.Sscan(string(raw), &low, &high); err != nil {
		return 0, fmt.Errorf("read net.ipv4.ip_local_port_range: %w", err)
	}
	return low, nil
}

// bounds are the ports to choose from below the kernel's own: a machine may have moved those down.
func bounds(ephemeral int) (begin, end int) {
	if end = min(ephemeral, first+most); end < first+least {
		return end / 2, end
	}
	return first, end
}

// unused reports whether no socket listens on the port, on any address. Listeners that never accepted a
// connection leave nothing behind.
func unused(port int) bool {
	address := ":" + strconv.Itoa(port)
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	_ = l.Close()
	p, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	_ = p.Close()
	return true
}

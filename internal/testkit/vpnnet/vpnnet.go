// Package vpnnet makes networks of namespaces for tests of VPN agents.
//
// In: the number of VPNs, what the core is like. Out: nodes, a folder with a bpf file system, counters of customers.
// Next: services/peagent, e2e/vpn.
package vpnnet

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/testkit/namespaces"
)

// Network is one of them; several may exist at a time.
type Network struct {
	T    testing.TB
	VPNs int
	Dir  string
	id   string
}

var networks atomic.Int32

// prefix is where names of namespaces begin.
const prefix = "mpe"

// Bare has no nodes yet; its folder has a bpf file system and keys of management packets.
func Bare(t testing.TB, vpns int) *Network {
	t.Helper()
	namespaces.RemoveLeft(t, prefix)
	n := &Network{T: t, id: fmt.Sprintf(prefix+"%d-%d", os.Getpid(), networks.Add(1)), VPNs: vpns, Dir: t.TempDir()}
	if err := goFirst(); err != nil {
		t.Fatal(err)
	}
	n.pins()
	n.Write("keys", "0 000102030405060708090a0b0c0d0e0f\n")
	return n
}

// TwoPEs is two PEs and a core router between them, with a customer port per VPN on either side:
//
//	left ═ pe1 ─ p [bottleneck] ─ pe2 ═ right
//
// VPN i sends from 10.1.i.2 to 10.2.i.2; the PEs are 10.255.0.1 and 10.255.0.2. The bottleneck's queue is in octets.
func TwoPEs(t testing.TB, vpns int, rate string, queue int) *Network {
	t.Helper()
	n := Bare(t, vpns)
	for _, node := range []string{"left", "pe1", "p", "pe2", "right"} {
		n.Node(node)
	}
	n.Cable("pe1", "core", "10.0.1.1/24", "p", "a", "10.0.1.2/24")
	n.Cable("p", "b", "10.0.2.2/24", "pe2", "core", "10.0.2.1/24")
	for pe := 1; pe <= 2; pe++ {
		node := fmt.Sprint("pe", pe)
		n.In(node, "ip", "addr", "add", fmt.Sprintf("10.255.0.%d/32", pe), "dev", "lo")
		n.In(node, "ip", "route", "add", "default", "via", fmt.Sprintf("10.0.%d.2", pe))
		n.In("p", "ip", "route", "add", fmt.Sprintf("10.%d.0.0/16", pe), "via", fmt.Sprintf("10.0.%d.1", pe))
		n.In("p", "ip", "route", "add", fmt.Sprintf("10.255.0.%d", pe), "via", fmt.Sprintf("10.0.%d.1", pe))
	}
	for i := 1; i <= vpns; i++ {
		for pe, host := range map[int]string{1: "left", 2: "right"} {
			port := fmt.Sprint("c", i)
			n.Cable(host, port, fmt.Sprintf("10.%d.%d.2/24", pe, i), fmt.Sprint("pe", pe), port, fmt.Sprintf("10.%d.%d.1/24", pe, i))
			n.In(host, "ip", "route", "add", fmt.Sprintf("10.%d.%d.0/24", 3-pe, i), "via", fmt.Sprintf("10.%d.%d.1", pe, i))
		}
	}
	n.In("p", "tc", "qdisc", "add", "dev", "b", "root", "tbf", "rate", rate, "burst", "20k", "limit", fmt.Sprint(queue))
	return n
}

// Node makes one namespace that forwards.
func (n *Network) Node(name string) {
	n.T.Helper()
	n.Run("ip", "netns", "add", n.NS(name))
	n.T.Cleanup(func() { n.Run("ip", "netns", "del", n.NS(name)) })
	n.In(name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv4.ip_forward=1",
		"net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0",
		// Sockets hold 200 ms of 12 Mbit/s from their first octet on:
		// TCP goes on while its program is kept from the processor.
		"net.ipv4.tcp_wmem=4096 524288 4194304", "net.ipv4.tcp_rmem=4096 524288 6291456")
	n.In(name, "ip", "link", "set", "lo", "up")
}

// pins mounts a bpf file system.
func (n *Network) pins() {
	n.T.Helper()
	if err := os.Mkdir(n.Dir+"/bpf", 0o700); err != nil {
		n.T.Fatal(err)
	}
	if err := unix.Mount("bpf", n.Dir+"/bpf", "bpf", 0, ""); err != nil {
		n.T.Fatal(err)
	}
	n.T.Cleanup(func() { _ = unix.Unmount(n.Dir+"/bpf", 0) })
}

// NS is the name of a node's namespace.
func (n *Network) NS(node string) string { return n.id + node }

// Write writes a file of the network's folder.
func (n *Network) Write(name, text string) string {
	n.T.Helper()
	path := filepath.Join(n.Dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.T.Fatal(err)
	}
	return path
}

// Cable joins two nodes. Offloads are off: queues count packets.
func (n *Network) Cable(a, porta, addra, b, portb, addrb string) {
	n.T.Helper()
	n.Run("ip", "link", "add", "name", porta, "netns", n.NS(a), "type", "veth", "peer", "name", portb, "netns", n.NS(b))
	for _, e := range [][3]string{{a, porta, addra}, {b, portb, addrb}} {
		n.In(e[0], "ip", "addr", "add", e[2], "dev", e[1])
		n.In(e[0], "ethtool", "-K", e[1], "tso", "off", "gso", "off", "gro", "off", "tx", "off")
		n.In(e[0], "ip", "link", "set", "dev", e[1], "up")
	}
}

// Run runs a command.
func (n *Network) Run(args ...string) string {
	n.T.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		n.T.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// In runs a command in a node.
func (n *Network) In(node string, args ...string) string {
	n.T.Helper()
	return n.Run(append([]string{"ip", "netns", "exec", n.NS(node)}, args...)...)
}

// Within is Enter for what must not fail.
func (n *Network) Within(node string, do func() error) {
	n.T.Helper()
	if err := n.Enter(node, do); err != nil {
		n.T.Fatal(err)
	}
}

// Enter runs a function on a thread in a node's namespace.
func (n *Network) Enter(node string, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread is not given back
		h, err := netns.GetFromName(n.NS(node))
		if err == nil {
			err = netns.Set(h)
			h.Close()
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// Arrived counts octets that reached the right customer of each VPN.
func (n *Network) Arrived() (octets []float64) {
	n.T.Helper()
	for i := range n.VPNs {
		var links []struct {
			Stats struct {
				Rx struct {
					Bytes float64 `json:"bytes"`
				} `json:"rx"`
			} `json:"stats64"`
		}
		raw := n.In("right", "ip", "-j", "-s", "link", "show", "dev", fmt.Sprint("c", i+1))
		if err := json.Unmarshal([]byte(raw), &links); err != nil || len(links) != 1 {
			n.T.Fatalf("read counters: %v", err)
		}
		octets = append(octets, links[0].Stats.Rx.Bytes)
	}
	return octets
}

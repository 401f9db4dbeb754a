package vpn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// network is two PEs and a core router between them, where the control plane runs, too:
//
//	left ═ pe1 ─ p [bottleneck] ─ pe2 ═ right
//
// VPN i sends from 10.1.i.2 to 10.2.i.2.
type network struct {
	t   *testing.T
	id  string
	dir string
}

const (
	bottleneck = "50mbit"
	vpns       = 2
	// control is the port of the agents' control API.
	control = "4757"
)

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{t: t, id: fmt.Sprintf("mvpn%d-", os.Getpid()), dir: t.TempDir()}
	for _, node := range []string{"left", "pe1", "p", "pe2", "right"} {
		n.run("ip", "netns", "add", n.ns(node))
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.ns(node)).Run() })
		n.in(node, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv4.ip_forward=1",
			"net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
		n.in(node, "ip", "link", "set", "lo", "up")
	}
	n.cable("pe1", "core", "10.0.1.1/24", "p", "a", "10.0.1.2/24")
	n.cable("p", "b", "10.0.2.2/24", "pe2", "core", "10.0.2.1/24")
	for pe := 1; pe <= 2; pe++ {
		n.in(fmt.Sprint("pe", pe), "ip", "addr", "add", fmt.Sprintf("10.255.0.%d/32", pe), "dev", "lo")
		n.in(fmt.Sprint("pe", pe), "ip", "route", "add", "default", "via", fmt.Sprintf("10.0.%d.2", pe))
		n.in("p", "ip", "route", "add", fmt.Sprintf("10.%d.0.0/16", pe), "via", fmt.Sprintf("10.0.%d.1", pe))
		n.in("p", "ip", "route", "add", fmt.Sprintf("10.255.0.%d", pe), "via", fmt.Sprintf("10.0.%d.1", pe))
	}
	for i := 1; i <= vpns; i++ {
		for pe, host := range map[int]string{1: "left", 2: "right"} {
			port := fmt.Sprint("c", i)
			n.cable(host, port, fmt.Sprintf("10.%d.%d.2/24", pe, i), fmt.Sprint("pe", pe), port, fmt.Sprintf("10.%d.%d.1/24", pe, i))
			n.in(host, "ip", "route", "add", fmt.Sprintf("10.%d.%d.0/24", 3-pe, i), "via", fmt.Sprintf("10.%d.%d.1", pe, i))
		}
	}
	n.in("p", "tc", "qdisc", "add", "dev", "b", "root", "tbf", "rate", bottleneck, "burst", "20k", "limit", "100000")
	if err := os.Mkdir(n.dir+"/bpf", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("bpf", n.dir+"/bpf", "bpf", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(n.dir+"/bpf", 0) })
	return n
}

func (n *network) ns(node string) string { return n.id + node }

func (n *network) run(args ...string) string {
	n.t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (n *network) in(node string, args ...string) string {
	n.t.Helper()
	return n.run(append([]string{"ip", "netns", "exec", n.ns(node)}, args...)...)
}

// cable joins two nodes. Offloads are off: queues count packets.
func (n *network) cable(a, porta, addra, b, portb, addrb string) {
	n.t.Helper()
	n.run("ip", "link", "add", "name", porta, "netns", n.ns(a), "type", "veth", "peer", "name", portb, "netns", n.ns(b))
	for _, e := range [][3]string{{a, porta, addra}, {b, portb, addrb}} {
		n.in(e[0], "ip", "addr", "add", e[2], "dev", e[1])
		n.in(e[0], "ethtool", "-K", e[1], "tso", "off", "gso", "off", "gro", "off", "tx", "off")
		n.in(e[0], "ip", "link", "set", "dev", e[1], "up")
	}
}

func (n *network) write(name, text string) string {
	n.t.Helper()
	path := filepath.Join(n.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return path
}

// http is a client in a node: a socket belongs to the namespace it is made in. The thread comes back from there and
// lives on, because processes that it started die with it.
func (n *network) http(node string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		home, err := netns.Get()
		if err != nil {
			return nil, err
		}
		defer home.Close()
		there, err := netns.GetFromName(n.ns(node))
		if err != nil {
			return nil, err
		}
		defer there.Close()
		if err := netns.Set(there); err != nil {
			return nil, err
		}
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return c, errors.Join(err, netns.Set(home))
	}}}
}

// send starts TCP of a VPN from left to right, until the test ends.
func (n *network) send(vpn int) {
	n.t.Helper()
	port := fmt.Sprint(5300 + vpn)
	for _, c := range []*exec.Cmd{
		exec.Command("ip", "netns", "exec", n.ns("right"), "iperf3", "-s", "-p", port),
		exec.Command("ip", "netns", "exec", n.ns("left"), "iperf3", "-c", fmt.Sprintf("10.2.%d.2", vpn), "-p", port, "-t", "600", "-P", "4"),
	} {
		if err := c.Start(); err != nil {
			n.t.Fatal(err)
		}
		n.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		until(n.t, "iperf3 listens on "+port, func() (bool, any) {
			sockets := n.in("right", "ss", "-lnt")
			return strings.Contains(sockets, ":"+port), sockets
		})
	}
}

// arrived counts octets that reached the right customer of each VPN.
func (n *network) arrived() (octets [vpns]float64) {
	n.t.Helper()
	for i := range octets {
		var links []struct {
			Stats struct {
				Rx struct {
					Bytes float64 `json:"bytes"`
				} `json:"rx"`
			} `json:"stats64"`
		}
		raw := n.in("right", "ip", "-j", "-s", "link", "show", "dev", fmt.Sprint("c", i+1))
		if err := json.Unmarshal([]byte(raw), &links); err != nil || len(links) != 1 {
			n.t.Fatalf("read counters: %v", err)
		}
		octets[i] = links[0].Stats.Rx.Bytes
	}
	return octets
}

// ratio waits until VPN 2 gets between least and most times what VPN 1 gets, over some seconds.
func (n *network) ratio(least, most float64) {
	n.t.Helper()
	until(n.t, fmt.Sprintf("VPN 2 has %g to %g times VPN 1", least, most), func() (bool, any) {
		before := n.arrived()
		time.Sleep(4 * time.Second)
		after := n.arrived()
		got := (after[1] - before[1]) / (after[0] - before[0])
		return got >= least && got <= most, fmt.Sprintf("%.2f", got)
	})
}

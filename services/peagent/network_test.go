package peagent

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// network is two PEs and a core router between them, with a customer port per
// VPN on either side:
//
//	left ═ PE1 ─ P [bottleneck] ─ PE2 ═ right
//
// VPN i sends from 10.1.i.2 to 10.2.i.2.
type network struct {
	t    testing.TB
	id   string
	vpns int
	dir  string
}

var networks atomic.Int32

const bottleneck = "100mbit"

func newNetwork(t testing.TB, vpns int) *network {
	t.Helper()
	n := &network{t: t, id: fmt.Sprintf("mpe%d-%d", os.Getpid(), networks.Add(1)), vpns: vpns, dir: t.TempDir()}
	for _, node := range []string{"left", "pe1", "p", "pe2", "right"} {
		n.node(node)
	}
	n.in("pe1", "ip", "addr", "add", "10.255.0.1/32", "dev", "lo")
	n.in("pe2", "ip", "addr", "add", "10.255.0.2/32", "dev", "lo")
	n.cable("pe1", "core", "10.0.1.1/24", "p", "a", "10.0.1.2/24")
	n.cable("p", "b", "10.0.2.2/24", "pe2", "core", "10.0.2.1/24")
	for i := 1; i <= vpns; i++ {
		n.cable("left", fmt.Sprint("c", i), fmt.Sprintf("10.1.%d.2/24", i), "pe1", fmt.Sprint("c", i), fmt.Sprintf("10.1.%d.1/24", i))
		n.cable("right", fmt.Sprint("c", i), fmt.Sprintf("10.2.%d.2/24", i), "pe2", fmt.Sprint("c", i), fmt.Sprintf("10.2.%d.1/24", i))
		n.in("left", "ip", "route", "add", fmt.Sprintf("10.2.%d.0/24", i), "via", fmt.Sprintf("10.1.%d.1", i))
		n.in("right", "ip", "route", "add", fmt.Sprintf("10.1.%d.0/24", i), "via", fmt.Sprintf("10.2.%d.1", i))
	}
	n.in("pe1", "ip", "route", "add", "default", "via", "10.0.1.2")
	n.in("pe2", "ip", "route", "add", "default", "via", "10.0.2.2")
	for _, r := range [][]string{{"10.1.0.0/16", "10.0.1.1"}, {"10.255.0.1", "10.0.1.1"}, {"10.2.0.0/16", "10.0.2.1"}, {"10.255.0.2", "10.0.2.1"}} {
		n.in("p", "ip", "route", "add", r[0], "via", r[1])
	}
	n.in("p", "tc", "qdisc", "add", "dev", "b", "root", "tbf", "rate", bottleneck, "burst", "20k", "limit", "150000")
	n.pins()
	return n
}

// node makes one namespace that forwards.
func (n *network) node(name string) {
	n.t.Helper()
	n.run("ip", "netns", "add", n.ns(name))
	n.t.Cleanup(func() { n.run("ip", "netns", "del", n.ns(name)) })
	n.in(name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv4.ip_forward=1",
		"net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
	n.in(name, "ip", "link", "set", "lo", "up")
}

// pins mounts a bpf file system and writes keys.
func (n *network) pins() {
	n.t.Helper()
	if err := os.Mkdir(n.dir+"/bpf", 0o700); err != nil {
		n.t.Fatal(err)
	}
	if err := unix.Mount("bpf", n.dir+"/bpf", "bpf", 0, ""); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = unix.Unmount(n.dir+"/bpf", 0) })
	n.write("keys", "0 000102030405060708090a0b0c0d0e0f\n")
}

func (n *network) ns(node string) string { return n.id + node }

func (n *network) write(name, text string) string {
	n.t.Helper()
	path := filepath.Join(n.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return path
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

// config is a PE's.
func (n *network) config(pe int) Configuration {
	c := DefaultConfiguration()
	c.PE = netip.MustParseAddr(fmt.Sprintf("10.255.0.%d", pe))
	far := netip.MustParseAddr(fmt.Sprintf("10.255.0.%d", 3-pe))
	c.Core, c.Keys, c.Pins = []string{"core"}, filepath.Join(n.dir, "keys"), fmt.Sprintf("%s/bpf/pe%d", n.dir, pe)
	c.Flows, c.Prefixes = 64, 64
	c.State = fmt.Sprintf("%s/weights%d.json", n.dir, pe)
	for i := 1; i <= n.vpns; i++ {
		c.VPNs = append(c.VPNs, VPN{Name: fmt.Sprint("vpn", i), ID: uint32(i), Ports: []string{fmt.Sprint("c", i)},
			Remotes: []Remote{{PE: far, Prefixes: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(3 - pe), byte(i)}), 24)}}}})
	}
	return c
}

// start runs an agent in a PE's namespace.
func (n *network) start(pe int, change func(*Configuration)) *Agent {
	n.t.Helper()
	cfg := n.config(pe)
	if change != nil {
		change(&cfg)
	}
	if err := cfg.Validate(); err != nil {
		n.t.Fatal(err)
	}
	a := New(cfg, Dependencies{Log: slog.New(slog.NewTextHandler(n.t.Output(), nil))})
	n.within(fmt.Sprint("pe", pe), func() error { return a.Start(n.t.Context()) })
	n.t.Cleanup(func() { _ = a.Stop(n.t.Context()) })
	return a
}

// within runs a function on a thread in a node's namespace.
func (n *network) within(node string, do func() error) {
	n.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread is not given back
		h, err := netns.GetFromName(n.ns(node))
		if err == nil {
			err = netns.Set(h)
			h.Close()
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		n.t.Fatal(err)
	}
}

// traffic is one iperf3 of a VPN from left to right.
type traffic struct {
	cmd  *exec.Cmd
	out  strings.Builder
	done chan error
}

// iperf starts one; more are iperf3's flags.
func (n *network) iperf(vpn int, more ...string) *traffic {
	n.t.Helper()
	port := fmt.Sprint(5200 + networks.Add(1))
	server := exec.Command("ip", "netns", "exec", n.ns("right"), "iperf3", "-s", "-1", "-p", port)
	if err := server.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for range 100 {
		if strings.Contains(n.in("right", "ss", "-lnt"), ":"+port) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	x := &traffic{done: make(chan error, 1)}
	x.cmd = exec.Command("ip", append([]string{"netns", "exec", n.ns("left"), "iperf3", "-J", "-c", fmt.Sprintf("10.2.%d.2", vpn), "-p", port}, more...)...)
	x.cmd.Stdout = &x.out
	if err := x.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func() { x.done <- x.cmd.Wait() }()
	n.t.Cleanup(func() { _ = x.cmd.Process.Kill() })
	return x
}

// result of a finished iperf3.
type result struct {
	End struct {
		Received struct {
			Bits float64 `json:"bits_per_second"`
		} `json:"sum_received"`
		Sum struct {
			Bits    float64 `json:"bits_per_second"`
			Lost    int     `json:"lost_packets"`
			Packets int     `json:"packets"`
		} `json:"sum"`
	} `json:"end"`
	Error string `json:"error"`
}

func (x *traffic) wait(t testing.TB) (r result) {
	t.Helper()
	err := <-x.done
	if e := json.Unmarshal([]byte(x.out.String()), &r); e != nil || err != nil || r.Error != "" {
		t.Fatalf("iperf3: %v, %v, %s", err, e, x.out.String())
	}
	return r
}

// arrived counts octets that reached the right customer of each VPN.
func (n *network) arrived() (octets []float64) {
	n.t.Helper()
	for i := range n.vpns {
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
		octets = append(octets, links[0].Stats.Rx.Bytes)
	}
	return octets
}

// throughput is Mbit/s per VPN over a time.
func (n *network) throughput(over time.Duration) []float64 {
	n.t.Helper()
	first, began := n.arrived(), time.Now()
	time.Sleep(over)
	last := n.arrived()
	for i := range last {
		last[i] = (last[i] - first[i]) * 8 / 1e6 / time.Since(began).Seconds()
	}
	return last
}

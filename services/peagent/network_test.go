package peagent

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/vpnnet"
)

// network is where agents are tested.
type network struct{ *vpnnet.Network }

// ports are of iperf3.
var ports atomic.Int32

const bottleneck = "100mbit"

func newNetwork(t testing.TB, vpns int) *network {
	t.Helper()
	return &network{vpnnet.TwoPEs(t, vpns, bottleneck, 150_000)}
}

// besideAnother lets a test run beside others that call it: those that wait for most of their time, or whose links are
// slow. Each has a network of its own.
func besideAnother(t *testing.T) { t.Parallel() }

// config is a PE's.
func (n *network) config(pe int) Configuration {
	c := DefaultConfiguration()
	c.PE = netip.MustParseAddr(fmt.Sprintf("10.255.0.%d", pe))
	far := netip.MustParseAddr(fmt.Sprintf("10.255.0.%d", 3-pe))
	c.Core, c.Keys, c.Pins = []string{"core"}, filepath.Join(n.Dir, "keys"), fmt.Sprintf("%s/bpf/pe%d", n.Dir, pe)
	c.Flows, c.Prefixes = 64, 64
	c.State = fmt.Sprintf("%s/weights%d.json", n.Dir, pe)
	for i := 1; i <= n.VPNs; i++ {
		c.VPNs = append(c.VPNs, VPN{Name: fmt.Sprint("vpn", i), ID: uint32(i), Ports: []string{fmt.Sprint("c", i)},
			Remotes: []Remote{{PE: far, Prefixes: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(3 - pe), byte(i)}), 24)}}}})
	}
	return c
}

// start runs an agent in a PE's namespace.
func (n *network) start(pe int, change func(*Configuration)) *Agent {
	n.T.Helper()
	cfg := n.config(pe)
	if change != nil {
		change(&cfg)
	}
	a, err := New(cfg, Dependencies{Log: slog.New(slog.NewTextHandler(n.T.Output(), nil))})
	if err != nil {
		n.T.Fatal(err)
	}
	n.Within(fmt.Sprint("pe", pe), func() error { return a.Start(n.T.Context()) })
	n.T.Cleanup(func() { _ = a.Stop(n.T.Context()) })
	return a
}

// traffic is one iperf3 of a VPN from left to right.
type traffic struct {
	cmd  *exec.Cmd
	out  strings.Builder
	done chan error
}

// iperf starts one from left to right; more are iperf3's flags.
func (n *network) iperf(vpn int, more ...string) *traffic {
	n.T.Helper()
	return n.iperfBetween("left", "right", fmt.Sprintf("10.2.%d.2", vpn), more...)
}

func (n *network) iperfBetween(from, to, address string, more ...string) *traffic {
	n.T.Helper()
	port := fmt.Sprint(5200 + ports.Add(1))
	server := n.Load(to, "iperf3", "-s", "-1", "-p", port)
	if err := server.Start(); err != nil {
		n.T.Fatal(err)
	}
	n.T.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	await.True(n.T, "iperf3 listens on "+port, func() bool { return strings.Contains(n.In(to, "ss", "-lnt"), ":"+port) })
	x := &traffic{done: make(chan error, 1)}
	x.cmd = n.Load(from, append([]string{"iperf3", "-J", "-c", address, "-p", port}, more...)...)
	x.cmd.Stdout = &x.out
	if err := x.cmd.Start(); err != nil {
		n.T.Fatal(err)
	}
	go func() { x.done <- x.cmd.Wait() }()
	n.T.Cleanup(func() { _ = x.cmd.Process.Kill() })
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

// throughput is Mbit/s per VPN over a time.
func (n *network) throughput(over time.Duration) []float64 {
	n.T.Helper()
	first, began := n.Arrived(), time.Now()
	time.Sleep(over)
	last := n.Arrived()
	for i := range last {
		last[i] = (last[i] - first[i]) * 8 / 1e6 / time.Since(began).Seconds()
	}
	return last
}

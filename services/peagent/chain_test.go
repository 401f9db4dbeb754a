package peagent

import (
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/vpnnet"
	"github.com/millrace/millrace/internal/vpnshare"
)

// newChain is figure 7 of paper 001, with plain routes in the place of LSPs:
//
//	PE1 ─ P1 ═20═ P2 ═10═ P3 ═b3═ P4 ─ PE4
//	              PE2      PE3
//
// VPN 1 runs from PE1 to PE4, VPN 2 from PE1 to PE2, VPN 3 from PE2 to PE3, VPN 4 from PE3 to PE4.
func newChain(t testing.TB, b3 int) *network {
	t.Helper()
	n := &network{vpnnet.Bare(t, 4)}
	n.Node("left")
	n.Node("right")
	for i := 1; i <= 4; i++ {
		n.Node(fmt.Sprint("p", i))
		n.Node(fmt.Sprint("pe", i))
		n.In(fmt.Sprint("pe", i), "ip", "addr", "add", fmt.Sprintf("10.255.0.%d/32", i), "dev", "lo")
		n.Cable(fmt.Sprint("pe", i), "core", fmt.Sprintf("10.0.%d.1/24", i), fmt.Sprint("p", i), "pe", fmt.Sprintf("10.0.%d.2/24", i))
		n.In(fmt.Sprint("pe", i), "ip", "route", "add", "default", "via", fmt.Sprintf("10.0.%d.2", i))
	}
	for i, rate := range []int{20, 10, b3} {
		a, b := fmt.Sprint("p", i+1), fmt.Sprint("p", i+2)
		n.Cable(a, "next", fmt.Sprintf("10.0.%d.1/24", 10+i), b, "back", fmt.Sprintf("10.0.%d.2/24", 10+i))
		n.In(a, "tc", "qdisc", "add", "dev", "next", "root", "tbf", "rate", fmt.Sprintf("%dmbit", rate), "burst", "5k", "limit", "303000")
	}
	// Who is behind which PE.
	ends := [][2]int{{1, 4}, {1, 2}, {2, 3}, {3, 4}}
	behind := map[int][]string{}
	for i := 1; i <= 4; i++ {
		behind[i] = append(behind[i], fmt.Sprintf("10.255.0.%d/32", i))
	}
	for i, e := range ends {
		vpn := i + 1
		for side, node := range []string{"left", "right"} {
			pe := fmt.Sprint("pe", e[side])
			n.Cable(node, fmt.Sprint("c", vpn), fmt.Sprintf("10.%d.%d.2/24", side+1, vpn), pe, fmt.Sprint("c", vpn), fmt.Sprintf("10.%d.%d.1/24", side+1, vpn))
			n.In(node, "ip", "route", "add", fmt.Sprintf("10.%d.%d.0/24", 2-side, vpn), "via", fmt.Sprintf("10.%d.%d.1", side+1, vpn))
			behind[e[side]] = append(behind[e[side]], fmt.Sprintf("10.%d.%d.0/24", side+1, vpn))
		}
	}
	for p := 1; p <= 4; p++ {
		for pe, prefixes := range behind {
			via := fmt.Sprintf("10.0.%d.1", p)
			if pe > p {
				via = fmt.Sprintf("10.0.%d.2", 9+p)
			} else if pe < p {
				via = fmt.Sprintf("10.0.%d.1", 8+p)
			}
			for _, prefix := range prefixes {
				n.In(fmt.Sprint("p", p), "ip", "route", "add", prefix, "via", via)
			}
		}
	}
	return n
}

// runAgents runs an agent on every PE; ends are ingress and egress PE of each VPN.
func (n *network) runAgents(ends [][2]int, weights []float64, change func(*Configuration)) (all []*Agent) {
	address := func(pe int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("10.255.0.%d", pe)) }
	policy := n.weights(weights)
	pes := 0
	for _, e := range ends {
		pes = max(pes, e[0], e[1])
	}
	for pe := 1; pe <= pes; pe++ {
		c := DefaultConfiguration()
		c.PE, c.Core, c.Keys, c.Pins = address(pe), []string{"core"}, filepath.Join(n.Dir, "keys"), fmt.Sprintf("%s/bpf/pe%d", n.Dir, pe)
		c.Flows, c.Prefixes, c.Weights = 64, 64, policy
		for i, e := range ends {
			for side := range 2 {
				if e[side] == pe {
					c.VPNs = append(c.VPNs, VPN{Name: fmt.Sprint("vpn", i+1), ID: uint32(i + 1), Ports: []string{fmt.Sprint("c", i+1)}, Remotes: []Remote{{
						PE: address(e[1-side]), Prefixes: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.%d.%d.0/24", 2-side, i+1))}}}})
				}
			}
		}
		for other := 1; other <= pes; other++ {
			if other != pe {
				c.Peers = append(c.Peers, address(other))
			}
		}
		change(&c)
		a, err := New(c, Dependencies{Log: slog.New(slog.NewTextHandler(n.T.Output(), nil))})
		if err != nil {
			n.T.Fatal(err)
		}
		n.Within(fmt.Sprint("pe", pe), func() error { return a.Start(n.T.Context()) })
		n.T.Cleanup(func() { _ = a.Stop(n.T.Context()) })
		all = append(all, a)
	}
	return all
}

// weights writes a policy.
func (n *network) weights(weights []float64) string {
	text := "policy: test\nvpns:\n"
	for i, w := range weights {
		text += fmt.Sprintf("  - {name: vpn%d, weight: %g}\n", i+1, w)
	}
	return n.Write("weights.yaml", text)
}

// TestSeveralBottlenecks is figure 8 of paper 001 with B3 = 30 Mbit/s: thirty Reno connections in each VPN, F above
// 0.95, converged after 10 s.
func TestSeveralBottlenecks(t *testing.T) {
	besideAnother(t)
	n := newChain(t, 30)
	weights := []float64{1, 3, 1, 5}
	n.runAgents([][2]int{{1, 4}, {1, 2}, {2, 3}, {3, 4}}, weights, func(c *Configuration) { c.Law.A, c.Law.B = 0.5, 0.05 })
	for vpn := 1; vpn <= 4; vpn++ {
		n.iperf(vpn, "-t", "60", "-P", "30", "-C", "reno")
	}
	var late []float64
	for i := range 12 {
		x := n.throughput(2 * time.Second)
		t.Logf("%2d s: F %.3f, %.2f Mbit/s", 2*i, vpnshare.Fairness(x, weights), x)
		if i >= 6 {
			late = append(late, vpnshare.Fairness(x, weights))
		}
	}
	mean := 0.0
	for _, f := range late {
		mean += f / float64(len(late))
	}
	if mean < 0.95 {
		t.Errorf("F %.3f from 12 s on: %.3f", mean, late)
	}
}

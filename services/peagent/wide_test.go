package peagent

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/vpnnet"
)

// wide is a network of many customer ports:
//
//	left ═ PE1 ─ (P [bottleneck] ─) PE2 ═ right
//
// Without a bottleneck there is no P, and the processor is what limits. Offloads
// are on, as on a real PE. The core's ports take frames of 1,600 bytes, so that
// a tunnel's overhead costs no fragmentation.
func wide(t testing.TB, vpns int, bottleneck string) *network {
	t.Helper()
	n := &network{vpnnet.Bare(t, vpns)}
	nodes := []string{"left", "pe1", "pe2", "right"}
	if bottleneck != "" {
		nodes = append(nodes, "p")
	}
	lines := map[string]*strings.Builder{"": {}}
	for _, node := range nodes {
		n.Node(node)
		lines[node] = &strings.Builder{}
	}
	say := func(node, format string, args ...any) { fmt.Fprintf(lines[node], format+"\n", args...) }
	if bottleneck == "" {
		say("", "link add name core mtu 1600 netns %s type veth peer name core mtu 1600 netns %s", n.NS("pe1"), n.NS("pe2"))
	} else {
		say("", "link add name core mtu 1600 netns %s type veth peer name a mtu 1600 netns %s", n.NS("pe1"), n.NS("p"))
		say("", "link add name b mtu 1600 netns %s type veth peer name core mtu 1600 netns %s", n.NS("p"), n.NS("pe2"))
		say("p", "address add 10.0.1.254/24 dev a\naddress add 10.0.2.254/24 dev b\nlink set dev a up\nlink set dev b up")
		say("p", "route add 10.1.0.0/16 via 10.0.1.1\nroute add 10.2.0.0/16 via 10.0.2.1\nroute add 10.255.0.1 via 10.0.1.1\nroute add 10.255.0.2 via 10.0.2.1")
	}
	for i, node := range []string{"pe1", "pe2"} {
		pe, far := i+1, 2-i
		own, next := fmt.Sprintf("10.0.0.%d", pe), fmt.Sprintf("10.0.0.%d", far)
		if bottleneck != "" {
			own, next = fmt.Sprintf("10.0.%d.1", pe), fmt.Sprintf("10.0.%d.254", pe)
		}
		say(node, "link set lo up\naddress add 10.255.0.%d/32 dev lo\naddress add %s/24 dev core\nlink set core up", pe, own)
		say(node, "route add 10.255.0.%d via %s\nroute add 10.%d.0.0/16 via %s", far, next, far, next)
		if bottleneck != "" {
			say(node, "route add 10.0.%d.0/24 via %s", far, next)
		}
	}
	for i := 1; i <= vpns; i++ {
		for side, ends := range [][2]string{{"left", "pe1"}, {"right", "pe2"}} {
			net4 := fmt.Sprintf("10.%d.%d", side+1, i>>6)
			host := (i & 63) * 4
			mac := func(end int) string { return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", side, end, i>>8, i&255) }
			say("", "link add name c%d address %s netns %s type veth peer name c%d address %s netns %s", i, mac(0), n.NS(ends[0]), i, mac(1), n.NS(ends[1]))
			say(ends[0], "address add %s.%d/30 dev c%d\nlink set c%d up\nroute add 10.%d.%d.%d/30 via %s.%d", net4, host+2, i, i, 2-side, i>>6, host, net4, host+1)
			say(ends[1], "address add %s.%d/30 dev c%d\nlink set c%d up", net4, host+1, i, i)
			// Neighbours stand fast: the whole machine has room for 1,024 that it has to find.
			say(ends[0], "neigh add %s.%d lladdr %s dev c%d nud permanent", net4, host+1, mac(1), i)
			say(ends[1], "neigh add %s.%d lladdr %s dev c%d nud permanent", net4, host+2, mac(0), i)
		}
	}
	n.batch("", lines[""].String())
	for _, node := range nodes {
		n.batch(node, lines[node].String())
	}
	if bottleneck != "" {
		// A token bucket that takes whole super-packets, with 10 ms of queue at 1 Gbit/s.
		n.In("p", "tc", "qdisc", "add", "dev", "b", "root", "tbf", "rate", bottleneck, "burst", "128k", "limit", "1250000")
	}
	return n
}

// batch gives `ip` many commands at once.
func (n *network) batch(node, commands string) {
	n.T.Helper()
	args := []string{"-batch", "-"}
	if node != "" {
		args = append([]string{"-netns", n.NS(node)}, args...)
	}
	cmd := exec.Command("ip", args...)
	cmd.Stdin = strings.NewReader(commands)
	if out, err := cmd.CombinedOutput(); err != nil {
		n.T.Fatalf("%s: %v: %s", node, err, out)
	}
}

// wideConfig has a prefix of four addresses per VPN.
func (n *network) wideConfig(pe int, mode string) Configuration {
	c := n.config(pe)
	c.Mode, c.Flows, c.Prefixes = mode, max(64, n.VPNs+n.VPNs/4), max(64, 2*n.VPNs)
	for i := range c.VPNs {
		v := i + 1
		c.VPNs[i].Remotes[0].Prefixes = []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.%d.%d.%d/30", 3-pe, v>>6, (v&63)*4))}
	}
	return c
}

// addresses are the right customers', by VPN.
func (n *network) addresses() (out []string) {
	for i := 1; i <= n.VPNs; i++ {
		out = append(out, fmt.Sprintf("10.2.%d.%d", i>>6, (i&63)*4+2))
	}
	return out
}

// agents starts both PEs' agents, each a process.
func (n *network) agents(mode string, change func(*Configuration)) (both [2]*process, first [2]agentReport) {
	n.T.Helper()
	for i := range both {
		c := n.wideConfig(i+1, mode)
		if change != nil {
			change(&c)
		}
		both[i] = n.process(fmt.Sprint("pe", i+1), "agent", c, &first[i])
	}
	return both, first
}

// remove ends agents and takes everything off the PEs.
func (n *network) remove(both [2]*process, mode string) (spent time.Duration) {
	n.T.Helper()
	began := time.Now()
	for i, p := range both {
		p.end()
		n.Within(fmt.Sprint("pe", i+1), func() error { return Remove(n.wideConfig(i+1, mode)) })
	}
	return time.Since(began)
}

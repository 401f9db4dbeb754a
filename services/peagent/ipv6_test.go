package peagent

import (
	"fmt"
	"net/netip"
	"os/exec"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/peagent/law"
)

// TestIPv6IsControlled: only IPv6 crosses. It is counted at both PEs and gets feedback.
func TestIPv6IsControlled(t *testing.T) {
	n := newNetwork(t, 1)
	address := map[string][][2]string{
		"left": {{"c1", "2001:db8:1::2/64"}}, "right": {{"c1", "2001:db8:2::2/64"}},
		"pe1": {{"c1", "2001:db8:1::1/64"}, {"core", "2001:db8:a::1/64"}}, "pe2": {{"c1", "2001:db8:2::1/64"}, {"core", "2001:db8:b::1/64"}},
		"p": {{"a", "2001:db8:a::2/64"}, {"b", "2001:db8:b::2/64"}},
	}
	routes := map[string][][2]string{
		"left": {{"default", "2001:db8:1::1"}}, "right": {{"default", "2001:db8:2::1"}},
		"pe1": {{"default", "2001:db8:a::2"}}, "pe2": {{"default", "2001:db8:b::2"}},
		"p": {{"2001:db8:1::/64", "2001:db8:a::1"}, {"2001:db8:2::/64", "2001:db8:b::1"}},
	}
	for node, list := range address {
		n.In(node, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=0", "net.ipv6.conf.default.disable_ipv6=0", "net.ipv6.conf.all.forwarding=1")
		for _, a := range list {
			n.In(node, "ip", "addr", "add", a[1], "dev", a[0], "nodad")
		}
	}
	for node, list := range routes {
		for _, r := range list {
			n.In(node, "ip", "-6", "route", "add", r[0], "via", r[1])
		}
	}
	with := func(pe int) func(*Configuration) {
		return func(c *Configuration) {
			c.VPNs[0].Remotes[0].Prefixes = []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("2001:db8:%d::/64", 3-pe))}
		}
	}
	pe1, pe2 := n.start(1, with(1)), n.start(2, with(2))
	// Neighbours are found on the way, a second and more on a busy host, and a router drops what it cannot yet send.
	await.True(t, "the hosts reach each other", func() bool {
		return n.Enter("left", exec.Command("ping", "-6", "-c", "1", "-W", "1", "2001:db8:2::2").Run) == nil
	})
	n.In("left", "ping", "-6", "-c", "100", "-i", "0.01", "-W", "1", "2001:db8:2::2")
	for i, a := range []*Agent{pe1, pe2} {
		await.True(t, fmt.Sprintf("PE%d has 100 packets each way and an answering peer", i+1), func() bool {
			f := a.Flows()
			a.mu.Lock()
			defer a.mu.Unlock()
			return len(f) == 1 && f[0].Packets >= 100 && f[0].Phase != law.NoFeedback && a.dp.Received[0].Packets >= 100
		})
	}
}

// Package labtest makes network namespaces for the router agent's tests and
// dumps what the kernel holds in them.
//
// In: a test. Out: a namespace of its own, gone after the test, and Dump, the
// judge of every rollback. Next: tests of kernel, apply and gnmi.
package labtest

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vishvananda/netns"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/namespaces"
)

// Router is a namespace with the ports ge-a and ge-b, whose far ends are in a
// second namespace, and the one queue that stands for a link rate: a tbf.
type Router struct {
	t          testing.TB
	Name, Peer string
	NS         netns.NsHandle
	routed     bool
}

var count atomic.Int32

// NewRouter makes a router: ge-a 10.0.1.1/24 and ge-b 10.0.2.1/24, peers at .2, forwarding on.
func NewRouter(t testing.TB) *Router {
	t.Helper()
	namespaces.RemoveLeft(t, "mrt")
	id := fmt.Sprintf("mrt%d-%d", os.Getpid(), count.Add(1))
	r := &Router{t: t, Name: id, Peer: id + "p"}
	for _, ns := range []string{r.Name, r.Peer} {
		r.Run("ip", "netns", "add", ns)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
	}
	for _, port := range []string{"ge-a", "ge-b"} {
		r.Run("ip", "link", "add", port, "netns", r.Name, "type", "veth", "peer", "name", port, "netns", r.Peer)
	}
	r.In("sh", "-ec", fmt.Sprintf(ports, 1)+lines)
	r.Run("ip", "netns", "exec", r.Peer, "sh", "-ec", fmt.Sprintf(ports, 2))
	r.waitCarrier()
	h, err := netns.GetFromName(r.Name)
	if err != nil {
		t.Fatal(err)
	}
	r.NS = h
	t.Cleanup(func() { h.Close() })
	return r
}

// ports are those of one end; IPv6 is off, because address detection would change dumps.
const ports = `sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link set lo up
ip addr add 10.0.1.%[1]d/24 dev ge-a
ip addr add 10.0.2.%[1]d/24 dev ge-b
ip link set ge-a up
ip link set ge-b up
`

// lines are the default queues of the router's ports, and what makes it a router.
const lines = `for port in ge-a ge-b; do
	tc qdisc add dev $port root handle 1: tbf rate 100mbit burst 15k limit 1250000
done
sysctl -qw net.ipv4.ip_forward=1
`

// waitCarrier waits until the kernel has noticed that both ends of the ports are up, which dumps of routes show.
func (r *Router) waitCarrier() {
	r.t.Helper()
	await.True(r.t, "the ports are up", func() bool {
		return !strings.Contains(r.In("ip", "route", "show", "table", "all"), "linkdown")
	})
}

// Run runs a command outside the router.
func (r *Router) Run(args ...string) string {
	r.t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// In runs a command inside the router.
func (r *Router) In(args ...string) string {
	r.t.Helper()
	return r.Run(append([]string{"ip", "netns", "exec", r.Name}, args...)...)
}

// counters are what a dump must not be compared by.
var counters = regexp.MustCompile(`(?m) (id \d+|tag [0-9a-f]+|jited|not_in_hw|refcnt \d+)`)

// Dump is everything an agent can change in the router: qdiscs, classes,
// filters, rules, routes of all tables, MPLS.
func (r *Router) Dump() string {
	r.t.Helper()
	return counters.ReplaceAllString(r.In("sh", "-ec", dump), "")
}

// dump is one script, because entering a namespace takes longer than all that is asked there. A port without clsact
// has no filters to show, which tc takes for an error.
const dump = `tc qdisc show
for port in ge-a ge-b; do
	tc class show dev $port
	tc filter show dev $port ingress 2>&1 || true
	tc filter show dev $port egress 2>&1 || true
done
ip rule
ip route show table all`

// Programs counts classifier programs in the kernel, of all namespaces.
func (r *Router) Programs() int {
	r.t.Helper()
	return strings.Count(r.Run("bpftool", "prog", "list"), "name te_")
}

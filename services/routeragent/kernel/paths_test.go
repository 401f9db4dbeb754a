package kernel

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netns"

	"github.com/millrace/millrace/internal/testkit/namespaces"
)

// srv6Lab is a host h, the router r, two ways m1 and m2, an egress e and a destination d, each a namespace.
type srv6Lab struct {
	*testing.T
	prefix string
	ns     netns.NsHandle
}

func (l *srv6Lab) run(node, command string) string {
	l.Helper()
	args := append([]string{"netns", "exec", l.prefix + node}, strings.Fields(command)...)
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		l.Fatalf("%s: %s: %v: %s", node, command, err, out)
	}
	return string(out)
}

func newSRv6Lab(t *testing.T) *srv6Lab {
	namespaces.RemoveLeft(t, "srv6-")
	l := &srv6Lab{T: t, prefix: fmt.Sprintf("srv6-%d-", os.Getpid())}
	for _, n := range []string{"h", "r", "m1", "m2", "e", "d"} {
		if out, err := exec.Command("ip", "netns", "add", l.prefix+n).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", l.prefix+n).Run() })
		for _, s := range []string{"ipv4.ip_forward=1", "ipv6.conf.all.forwarding=1", "ipv6.conf.all.seg6_enabled=1", "ipv6.conf.default.seg6_enabled=1",
			"ipv6.conf.all.accept_dad=0", "ipv6.conf.default.accept_dad=0", "ipv4.conf.all.rp_filter=0", "ipv4.conf.default.rp_filter=0"} {
			l.run(n, "sysctl -qw net."+s)
		}
		l.run(n, "ip link set lo up")
	}
	for i, link := range [][2]string{{"h", "r"}, {"r", "m1"}, {"r", "m2"}, {"m1", "e"}, {"m2", "e"}, {"e", "d"}} {
		a, b := link[0], link[1]
		l.run(a, fmt.Sprintf("ip link add to-%s type veth peer name to-%s netns %s%s", b, a, l.prefix, b))
		for j, end := range [][2]string{{a, b}, {b, a}} {
			l.run(end[0], fmt.Sprintf("ip addr add 10.%d.0.%d/24 dev to-%s", i, j+1, end[1]))
			l.run(end[0], fmt.Sprintf("ip addr add fd%d::%d/64 dev to-%s nodad", i+10, j+1, end[1]))
			l.run(end[0], fmt.Sprintf("ip link set to-%s up", end[1]))
		}
	}
	l.run("h", "ip route add default via 10.0.0.2")
	l.run("h", "ip -6 route add default via fd10::2")
	for _, m := range []string{"1", "2"} {
		l.run("r", fmt.Sprintf("ip -6 route add fd00:%s::/64 via fd1%s::2", m, m))
		l.run("m"+m, fmt.Sprintf("ip -6 route add fd00:%s::1/128 encap seg6local action End dev to-e", m))
		l.run("m"+m, fmt.Sprintf("ip -6 route add fd00:e::/64 via fd1%d::2", m[0]-'0'+2))
	}
	l.run("e", "ip -6 route add fd00:e::4/128 encap seg6local action End.DX4 nh4 10.5.0.2 dev to-d")
	l.run("e", "ip -6 route add fd00:e::6/128 encap seg6local action End.DX6 nh6 fd15::2 dev to-d")
	l.run("d", "ip route add local 198.51.100.0/24 dev lo")
	l.run("d", "ip -6 route add local 2001:db8:d::/64 dev lo")
	var err error
	if l.ns, err = netns.GetFromName(l.prefix + "r"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.ns.Close() })
	return l
}

// received counts packets that came in on an interface.
func (l *srv6Lab) received(node, port string) int {
	l.Helper()
	var links []struct {
		Stats64 struct {
			RX struct{ Packets int }
		}
	}
	if err := json.Unmarshal([]byte(l.run(node, "ip -j -s link show "+port)), &links); err != nil {
		l.Fatal(err)
	}
	return links[0].Stats64.RX.Packets
}

// send sends a datagram to each of n addresses and tells how many came over m1, over m2, and to d.
func (l *srv6Lab) send(n int, format string) (m1, m2, d int) {
	l.Helper()
	family := "AF_INET"
	if strings.Contains(format, ":") {
		family = "AF_INET6"
	}
	count := func() [3]int {
		return [3]int{l.received("m1", "to-r"), l.received("m2", "to-r"), l.received("d", "to-e")}
	}
	datagrams := func(n int) int { // returns how many of them arrived, after ten seconds at most
		before := l.received("d", "to-e")
		l.datagrams(family, format, n)
		arrived := 0
		for deadline := time.Now().Add(10 * time.Second); arrived < n && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			arrived = l.received("d", "to-e") - before
		}
		return arrived
	}
	// Until neighbours know each other's addresses a kernel keeps a hundred packets and drops the rest.
	for tries := 0; datagrams(20) < 20 && tries < 5; tries++ {
	}
	before := count()
	datagrams(n)
	after := count()
	return after[0] - before[0], after[1] - before[1], after[2] - before[2]
}

// datagrams sends n datagrams, each to an address of its own.
func (l *srv6Lab) datagrams(family, format string, n int) {
	l.Helper()
	script := fmt.Sprintf("import socket,time\ns=socket.socket(socket.%s,socket.SOCK_DGRAM)\nfor i in range(%d):\n s.sendto(b'x'*100,('%s'%%(i%%250+1),9))\n time.sleep(.0005)", family, n, format)
	if out, err := exec.Command("ip", "netns", "exec", l.prefix+"h", "python3", "-c", script).CombinedOutput(); err != nil {
		l.Fatalf("%v: %s", err, out)
	}
}

// TestSRv6PathsCarryPairsOverTheirSegments: four routers, IPv4 and IPv6, one path, the other, both by flows.
func TestSRv6PathsCarryPairsOverTheirSegments(t *testing.T) {
	l := newSRv6Lab(t)
	held := func() string {
		out := l.run("r", "ip -4 rule") + l.run("r", "ip -6 rule") + l.run("r", "ip -4 route show table all")
		for _, line := range strings.Split(l.run("r", "ip -6 route show table all"), "\n") {
			if !strings.Contains(line, "fe80:") && !strings.Contains(line, "ff00:") { // link-local routes come and go by themselves
				out += line + "\n"
			}
		}
		return out
	}
	before := held()
	k, err := Open(Configuration{Namespace: l.ns, Owned: filepath.Join(t.TempDir(), "owned.json")}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	sid := func(s ...string) (out []netip.Addr) {
		for _, a := range s {
			out = append(out, netip.MustParseAddr(a))
		}
		return out
	}
	spec := func(path4, path6 int) Spec {
		return Spec{
			Paths:    []int{1, 2, 4, 5},
			Segments: map[int][]netip.Addr{1: sid("fd00:1::1", "fd00:e::4"), 2: sid("fd00:2::1", "fd00:e::4"), 4: sid("fd00:1::1", "fd00:e::6"), 5: sid("fd00:2::1", "fd00:e::6")},
			Sets:     map[int][]Member{3: {{Path: 1, Weight: 1, Counter: 2}, {Path: 2, Weight: 3, Counter: 3}}},
			Policies: map[string][]Rule{"te-in": {
				{Sequence: 1, Src: netip.MustParsePrefix("10.0.0.0/24"), Dst: netip.MustParsePrefix("198.51.100.0/24"), Mark: Mark(0, path4), Set: path4 == 3},
				{Sequence: 2, Src: netip.MustParsePrefix("fd10::/64"), Dst: netip.MustParsePrefix("2001:db8:d::/64"), Mark: Mark(0, path6), Counter: 1},
			}},
			Bindings: map[string]string{"to-h": "te-in"},
		}
	}
	const n, noise = 200, 20 // noise: neighbour discovery
	about := func(t *testing.T, what string, got, want int) {
		t.Helper()
		if got < want || got > want+noise {
			t.Errorf("%s: %d packets, want %d and little more", what, got, want)
		}
	}
	for _, c := range []struct {
		name         string
		path4, path6 int
		format       string
		m1, m2       int
	}{
		{"IPv4 over m1", 1, 4, "198.51.100.%d", n, 0},
		{"IPv4 over m2", 2, 4, "198.51.100.%d", 0, n},
		{"IPv6 over m1", 2, 4, "2001:db8:d::%x", n, 0},
		{"IPv6 over m2", 2, 5, "2001:db8:d::%x", 0, n},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := converge(k, spec(c.path4, c.path6)); err != nil {
				t.Fatal(err)
			}
			m1, m2, d := l.send(n, c.format)
			about(t, "over m1", m1, c.m1)
			about(t, "over m2", m2, c.m2)
			if d < n {
				t.Errorf("%d packets arrived, want %d", d, n)
			}
		})
	}
	t.Run("IPv4 over both, a quarter and three, by flows", func(t *testing.T) {
		if err := converge(k, spec(3, 4)); err != nil {
			t.Fatal(err)
		}
		m1, m2, d := l.send(n, "198.51.100.%d")
		t.Logf("%d over m1, %d over m2", m1, m2)
		about(t, "arrived", d, n)
		// Which flow takes which path is the hash's, and always the same: no chance is left in these bounds.
		if m1 < n/8 || m2 < n/2 {
			t.Errorf("%d over m1, %d over m2: not shared as 1 to 3", m1, m2)
		}
		c, err := k.RuleCounters([]int{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		if on := int(c[2].Packets + c[3].Packets); on < n {
			t.Errorf("%d packets counted on the set's paths, want %d and the warm-up", on, n)
		}
	})
	t.Run("again changes nothing, and nothing is left", func(t *testing.T) {
		k.Fault = func(step string) error { t.Errorf("changed: %s", step); return nil }
		if err := converge(k, spec(3, 4)); err != nil {
			t.Fatal(err)
		}
		k.Fault = nil
		if err := converge(k, Spec{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, held()); diff != "" {
			t.Errorf("routes after removal (-before +after):\n%s", diff)
		}
	})
}

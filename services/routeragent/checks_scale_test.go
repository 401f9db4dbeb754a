package routeragent_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"

	"github.com/millrace/millrace/internal/testkit/await"
)

func fmtInt(i int) string { return strconv.Itoa(i) }

// check45 sends datagrams of one size through the alpha queue, from one
// namespace over the router into another one, more than the queue can take.
func check45(t *testing.T) {
	x := newTarget(t)
	x.stop()
	line := x.cfg.Interfaces["ge-b"]
	line.Speed = 2e6
	x.cfg.Interfaces["ge-b"] = line
	x.start()
	config := strings.ReplaceAll(strings.ReplaceAll(hntes("95"), `"1187500"`, `"20000"`), `"62500"`, `"20000"`)
	if err := x.set(x.request("update / " + config)); err != nil {
		t.Fatal(err)
	}
	receive := x.sink(t)
	const sent, payload = 600, 958 // 1000 octets of Ethernet
	x.send(t, sent, payload)
	const queue = "/qos/interfaces/interface[interface-id=ge-b]/output/queues/queue[name=te-alpha]/state/"
	var dropped, passed uint64
	await.True(t, "the queue has sent or dropped every datagram", func() bool {
		dropped, passed = x.counter(t, queue+"dropped-pkts"), x.counter(t, queue+"transmit-pkts")
		return dropped+passed >= sent
	})
	if dropped+passed != sent {
		t.Errorf("dropped-pkts %d and transmit-pkts %d, but %d were sent", dropped, passed, sent)
	}
	octets := x.counter(t, queue+"transmit-octets")
	received := receive(passed)
	if passed == 0 || dropped == 0 {
		t.Fatalf("%d of %d datagrams passed and %d were dropped; the test wants some of both", passed, sent, dropped)
	}
	if passed != received {
		t.Errorf("transmit-pkts %d, but %d arrived", passed, received)
	}
	if known := received * (payload + 42); octets*100 < known*99 || octets*100 > known*101 {
		t.Errorf("transmit-octets %d, but %d octets arrived", octets, known)
	}
	tc := x.router.In("tc", "-s", "class", "show", "dev", "ge-b")
	if !strings.Contains(tc, fmt.Sprintf("Sent %d bytes %d pkt", octets, passed)) {
		t.Errorf("tc -s says other than %d octets, %d packets:\n%s", octets, passed, tc)
	}
	if hits := x.counter(t, rulePath+"/state/matched-pkts"); hits != sent {
		t.Errorf("matched-pkts of the rule is %d, but %d were sent", hits, sent)
	}
}

func (x *target) counter(t *testing.T, path string) uint64 {
	t.Helper()
	r, err := x.ask(&gnmi.GetRequest{Encoding: gnmi.Encoding_PROTO, Path: []*gnmi.Path{mustPath(t, path)}})
	if err != nil {
		t.Fatal(err)
	}
	return r.GetNotification()[0].GetUpdate()[0].GetVal().GetUintVal()
}

// sink puts the far end of ge-b into a namespace of its own, where 198.51.100.9
// is, and returns what waits until so many datagrams have arrived and counts them.
func (x *target) sink(t *testing.T) func(want uint64) uint64 {
	t.Helper()
	r, ns := x.router, x.router.Name+"s"
	r.Run("ip", "netns", "add", ns)
	t.Cleanup(func() { r.Run("ip", "netns", "del", ns) })
	r.Run("ip", "-n", r.Peer, "link", "set", "ge-b", "netns", ns)
	r.Run("ip", "-n", ns, "link", "set", "lo", "up")
	r.Run("ip", "-n", ns, "addr", "add", "198.51.100.9/32", "dev", "lo")
	r.Run("ip", "-n", ns, "addr", "add", "10.0.2.2/24", "dev", "ge-b")
	r.Run("ip", "-n", ns, "link", "set", "ge-b", "up")
	r.Run("ip", "-n", ns, "route", "add", "default", "via", "10.0.2.1")
	r.Run("ip", "-n", r.Peer, "route", "add", "198.51.100.0/24", "via", "10.0.1.1")
	await.True(t, "ge-b is up again", func() bool { return !strings.Contains(r.In("ip", "route", "show", "table", "all"), "linkdown") })
	var conn *net.UDPConn
	inNamespace(t, ns, func() (err error) {
		conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(198, 51, 100, 9), Port: 7777})
		return err
	})
	if err := conn.SetReadBuffer(8 << 20); err != nil {
		t.Fatal(err)
	}
	return func(want uint64) (n uint64) {
		defer conn.Close()
		buf := make([]byte, 2000)
		if err := conn.SetReadDeadline(time.Now().Add(await.Patience)); err != nil {
			t.Fatal(err)
		}
		for n < want {
			if _, err := conn.Read(buf); err != nil {
				t.Fatalf("%d of %d datagrams arrived: %v", n, want, err)
			}
			n++
		}
		// One more must not arrive: that it did not yet proves nothing, that it did is a failure.
		if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(buf); err == nil {
			n++
		}
		return n
	}
}

// send sends datagrams of the alpha pair without a pause; the receive
// side of a veth keeps 1000 (net.core.netdev_max_backlog).
func (x *target) send(t *testing.T, count, payload int) {
	t.Helper()
	var conn net.Conn
	inNamespace(t, x.router.Peer, func() (err error) {
		conn, err = net.Dial("udp4", "198.51.100.9:7777")
		return err
	})
	defer conn.Close()
	buf := make([]byte, payload)
	for i := range count {
		binary.BigEndian.PutUint32(buf, uint32(i))
		if _, err := conn.Write(buf); err != nil {
			t.Fatal(err)
		}
	}
}

// inNamespace runs f on a thread of another namespace.
func inNamespace(t *testing.T, name string, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its goroutine
		ns, err := netns.GetFromName(name)
		if err == nil {
			defer ns.Close()
			err = unix.Setns(int(ns), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func check47(t *testing.T) {
	x, y := loaded(t), newTarget(t)
	const other = "/network-instances/network-instance[name=other]"
	for _, path := range []string{other, other + "/policy-forwarding", other + "/mpls"} {
		_, err := x.get(gnmi.GetRequest_ALL, path)
		wantCode(t, err, codes.NotFound)
	}
	before := x.dump()
	wantCode(t, x.set(x.request(`update `+other+` {"config":{"name":"other"}}`)), codes.Unimplemented)
	wantCode(t, x.set(x.request("delete "+other)), codes.OK) // absent: silently
	if diff := cmp.Diff(before, x.dump()); diff != "" {
		t.Errorf("kernel (-before +after writes to another instance):\n%s", diff)
	}
	r, err := x.ask(&gnmi.GetRequest{Encoding: gnmi.Encoding_PROTO, Path: []*gnmi.Path{mustPath(t, "/network-instances")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range r.GetNotification()[0].GetUpdate() {
		if p := pathString(t, u.GetPath()); !strings.HasPrefix(p, "/network-instances/network-instance[name=DEFAULT]/") {
			t.Errorf("%s is of another instance", p)
		}
	}
	// Two targets in one process: what one is sent, the other neither has nor reports.
	s := y.subscribe(t, list(stream, y.on(t, gnmi.SubscriptionMode_ON_CHANGE, "/qos")))
	s.untilSync()
	mine := y.dump()
	x.must(t, "update /qos/queues/queue[name=of-x]/config/queue-id 9", "update / "+hntes("60"))
	if got := y.config("/qos"); got != "" {
		t.Errorf("the other target has %s", got)
	}
	if diff := cmp.Diff(mine, y.dump()); diff != "" {
		t.Errorf("kernel of the other target:\n%s", diff)
	}
	y.must(t, "update /qos/queues/queue[name=of-y]/config/queue-id 8")
	for path := range s.change() {
		if !strings.Contains(path, "of-y") {
			t.Errorf("the other target's subscriber heard of %s", path)
		}
	}
}

// pairs is a policy of n rules with one prefix pair each.
func pairs(n int) string {
	var src, rules []string
	for i := range n {
		src = append(src, fmt.Sprintf(`{"name":"te-s%d","config":{"name":"te-s%d","prefix":["10.%d.%d.0/24"]}}`, i, i, i>>8, i&255))
		rules = append(rules, fmt.Sprintf(`{"sequence-id":%d,"config":{"sequence-id":%d},"ipv4":{"config":{"source-address-prefix-set":"te-s%d","destination-address":"198.51.100.0/24"}},
			"action":{"forwarding":{"config":{"forwarding-action":"openconfig-policy-forwarding:FORWARD","qos-forwarding-group":"te-alpha"}}}}`, i+1, i+1, i))
	}
	return `{"openconfig-defined-sets:defined-sets":{"ipv4-prefix-sets":{"ipv4-prefix-set":[` + strings.Join(src, ",") + `]}},
	"openconfig-network-instance:network-instances":{"network-instance":[{"name":"DEFAULT","config":{"name":"DEFAULT"},"policy-forwarding":{"policies":{"policy":[
	{"policy-id":"te-in","rules":{"rule":[` + strings.Join(rules, ",") + `]}}]}}}]}}`
}

const rulesPath = "/network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=te-in]/rules"

// prefixes is a set of n prefixes.
func prefixes(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(`"10.%d.%d.%d/32"`, i>>16, i>>8&255, i&255)
	}
	return "[" + strings.Join(out, ",") + "]"
}

// check48: each large Set is tried with a fault at every step first, and once
// with a last operation that is bad; neither leaves a trace.
func check48(t *testing.T) {
	for _, c := range []struct {
		name string
		ops  []string
		path string // of leaves, how many there are after it
		want int
	}{
		{"5,000 rules", []string{"delete " + rulesPath, "update / " + pairs(5000)}, rulesPath + "/rule/state/matched-pkts", 5000},
		{"20,000 prefixes", []string{"replace /defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=te-src-7]/config/prefix " + prefixes(20000)}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := loaded(t)
			config, before := x.config("/"), x.dump()
			wantCode(t, x.set(x.request(append(c.ops, "update /qos/queues/queue[name=te-x]/config/queue-id 999")...)), codes.InvalidArgument)
			steps := x.failEachStep(t, x.request(c.ops...), func(step string) {
				if diff := cmp.Diff(before, x.dump()); diff != "" {
					t.Errorf("kernel after failure of %q (-before +after):\n%s", step, diff)
				}
				if x.config("/") != config {
					t.Errorf("configuration after failure of %q is another", step)
				}
			})
			if steps == 0 {
				t.Error("no step could fail")
			}
			if x.dump() == before {
				t.Error("the Set that no step failed did nothing")
			}
			if c.path != "" {
				got, err := x.get(gnmi.GetRequest_STATE, c.path)
				if n := strings.Count(got, `"0"`); err != nil || n != c.want {
					t.Errorf("%d leaves at %s (%v), want %d", n, c.path, err, c.want)
				}
			}
		})
	}
}

// failEachStep sends a Set over and over, with a fault one step later each
// time, until none is hit.
func (x *target) failEachStep(t *testing.T, req *gnmi.SetRequest, undone func(step string)) int {
	t.Helper()
	for n := range 40 {
		step, failed := 0, ""
		x.agent.InjectFault(func(name string) error {
			if step++; step == n+1 {
				failed = name
				return errInjected
			}
			return nil
		})
		err := x.set(req)
		x.agent.InjectFault(nil)
		if err == nil {
			return n
		}
		wantCode(t, err, codes.Aborted)
		if !strings.Contains(err.Error(), failed) {
			t.Errorf("the error %v does not name the step %q", err, failed)
		}
		undone(failed)
	}
	t.Fatal("some step fails for ever")
	return 0
}

package lab

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/millrace/millrace/scenario"
)

func TestPingOutput(t *testing.T) {
	raw, err := os.ReadFile("testdata/ping.txt")
	if err != nil {
		t.Fatal(err)
	}
	var s PingSeries
	live := 0
	// A duplicate and an unanswered request that ping reports as such.
	text := strings.Replace(string(raw), "icmp_seq=4", "icmp_seq=3", 1)
	if err := s.read(strings.NewReader(text), func(Echo) { live++ }); err != nil {
		t.Fatal(err)
	}
	want := PingSeries{Sent: 4, Received: 3, Echoes: []Echo{
		{time.UnixMicro(1795264948417610), 1, 2.04}, {time.UnixMicro(1795264948518285), 2, 2.05}, {time.UnixMicro(1795264948625126), 3, 8.35},
	}}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(PingSeries{})); diff != "" || live != 3 {
		t.Errorf("told %d answers; (-want +got):\n%s", live, diff)
	}
	if err := new(PingSeries).read(strings.NewReader("ping: unknown host\n"), func(Echo) {}); err == nil {
		t.Error("output without a summary was accepted")
	}
}

// ping(8) prints what the packet has room for: 16 bits.
func TestEchoesBeyondTheSequenceNumbersOfICMPAreNoDuplicates(t *testing.T) {
	var out strings.Builder
	const sent = 1<<16 + 10
	for n := 1; n <= sent; n++ {
		fmt.Fprintf(&out, "[1795264948.417610] 64 bytes from 10.1.1.2: icmp_seq=%d ttl=62 time=2.04 ms\n", n%(1<<16))
	}
	fmt.Fprintf(&out, "%d packets transmitted, %d received, 0%% packet loss, time 9ms\n", sent, sent)
	var s PingSeries
	if err := s.read(strings.NewReader(out.String()), func(Echo) {}); err != nil {
		t.Fatal(err)
	}
	if s.Received != sent || s.Echoes[sent-1].Seq != sent {
		t.Errorf("of %d echoes that were answered %d count; the last has number %d", sent, s.Received, s.Echoes[len(s.Echoes)-1].Seq)
	}
}

func TestMetricsOfAPhase(t *testing.T) {
	at := time.Unix(1000, 0)
	p := &PhaseResult{Phase: "day1", Start: at, Applications: []ApplicationResult{
		{Name: "ping", Kind: scenario.Ping, Start: at, Ping: &PingSeries{Sent: 5, Received: 4, Echoes: []Echo{{RTT: 1}, {RTT: 2}, {RTT: 3}, {RTT: 10}}}},
		{Name: "a", Group: "alpha", Start: at.Add(time.Second), TCP: &TCPSeries{Bytes: 10e6, Seconds: 4, Mbps: 20, Retransmits: 7}},
		{Name: "b", Group: "alpha", Start: at.Add(2 * time.Second), TCP: &TCPSeries{Bytes: 15e6, Seconds: 9, Mbps: 13.3}},
		{Name: "dead", Start: at, Ping: &PingSeries{Sent: 3}},
	}}
	m := Metrics(p)
	for name, want := range map[string]float64{
		"day1/ping/rtt_mean_ms": 4, "day1/ping/rtt_p50_ms": 2, "day1/ping/rtt_p99_ms": 10, "day1/ping/loss_percent": 20,
		"day1/ping/rtt_sd_ms": math.Sqrt(12.5), "day1/a/retransmits": 7,
		// 25 MB in the ten seconds from 1 to 11.
		"day1/alpha/goodput_mbps": 20, "day1/alpha/bytes": 25e6, "day1/dead/loss_percent": 100,
	} {
		if got, ok := m[name]; !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s = %v (%t), want %v", name, got, ok, want)
		}
	}
	if _, ok := m["day1/dead/rtt_mean_ms"]; ok {
		t.Error("a ping without answers has a mean delay")
	}
}

func TestFramesSurviveTheWire(t *testing.T) {
	var wire bytes.Buffer
	f := &frames{w: &wire}
	if _, err := f.writer(frameStdout).Write(bytes.Repeat([]byte("x"), 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := f.sendJSON(frameExit, exit{Code: 7}); err != nil {
		t.Fatal(err)
	}
	whole := wire.Bytes()
	var out bytes.Buffer
	end, err := call{stdout: &out}.receive(bytes.NewReader(whole))
	if err != nil || end.Code != 7 || out.Len() != 100_000 {
		t.Errorf("got %+v, %d bytes, %v", end, out.Len(), err)
	}
	for cut := range []int{0, 3, 5, 70_000, len(whole) - 1} {
		if _, err := (call{}).receive(bytes.NewReader(whole[:cut])); err == nil {
			t.Errorf("a stream cut after %d bytes was accepted", cut)
		}
	}
	if _, _, err := readFrame(strings.NewReader("\x00\xff\xff\xff\xff")); err == nil {
		t.Error("a frame of 4 GB was accepted")
	}
}

const dumpBefore = `== links
ge-er@if7        UP             02:4d:01:00:00:01 <BROADCAST,MULTICAST,UP,LOWER_UP>
== qdiscs
qdisc tbf 8001: dev ge-er root refcnt 2 rate 100Mbit burst 25000b lat 98ms
== routes
10.2.1.0/24 nhid 28 via 10.254.0.2 dev ge-er proto ospf metric 20
10.255.0.2 nhid 29 via 10.254.0.2 dev ge-er proto ospf metric 20
== nexthops
[{"id":28,"gateway":"10.254.0.2","dev":"ge-er"},{"id":40,"group":[{"id":28},{"id":29}]},{"id":29,"dev":"ge-cr"}]
== frr
frr version 8.4.4
`

func TestDumpsOfTheSameStateAreTheSame(t *testing.T) {
	want, err := normaliseRouter(dumpBefore)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		t.Helper()
		if !strings.Contains(dumpBefore, old) {
			t.Fatalf("%q is not in the dump", old)
		}
		got, err := normaliseRouter(strings.ReplaceAll(dumpBefore, old, new))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for name, c := range map[string][2]string{
		"another handle from the kernel":   {"8001:", "800f:"},
		"another nexthop id":               {"nhid 28", "nhid 31"},
		"another id of the nexthop object": {`"id":28`, `"id":128`},
		"another reference count":          {"refcnt 2", "refcnt 5"},
		"another index of the other end":   {"@if7", "@if19"},
		"routes made in another order":     {"10.2.1.0/24 nhid 28 via 10.254.0.2 dev ge-er proto ospf metric 20\n10.255.0.2 nhid 29 via 10.254.0.2 dev ge-er proto ospf metric 20", "10.255.0.2 nhid 29 via 10.254.0.2 dev ge-er proto ospf metric 20\n10.2.1.0/24 nhid 28 via 10.254.0.2 dev ge-er proto ospf metric 20"},
	} {
		if diff := cmp.Diff(want, change(c[0], c[1])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, c := range map[string][2]string{
		"another rate":               {"100Mbit", "95Mbit"},
		"another qdisc":              {"tbf", "htb"},
		"another way":                {"dev ge-er proto", "dev ge-cr proto"},
		"another gateway in a group": {`"gateway":"10.254.0.2"`, `"gateway":"10.254.9.2"`},
		"another configuration":      {"frr version 8.4.4", "frr version 8.5"},
	} {
		if change(c[0], c[1]) == want {
			t.Errorf("%s makes no difference to the dump", name)
		}
	}
}

func TestALabelSwappedForNoneIsUnresolved(t *testing.T) {
	swap := func(to ...int) *netlink.MPLSDestination { return &netlink.MPLSDestination{Labels: to} }
	for _, c := range []struct {
		name  string
		route netlink.Route
		want  bool
	}{
		{"popped at the last hop but one", netlink.Route{}, false},
		{"swapped for itself", netlink.Route{NewDst: swap(16004)}, false},
		{"swapped for IPv4 explicit null", netlink.Route{NewDst: swap(0)}, true},
		{"one of two next hops", netlink.Route{MultiPath: []*netlink.NexthopInfo{{NewDst: swap(16004)}, {NewDst: swap(0)}}}, true},
	} {
		if got := unresolved(c.route); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

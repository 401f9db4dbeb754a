package peagent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/vpnshare"
	"github.com/millrace/millrace/services/peagent/bpf"
	"github.com/millrace/millrace/services/peagent/law"
)

// shared waits for so many seconds in which VPNs share the link by their weights and have least Mbit/s in all: a sender
// or a link that the machine keeps waiting leaves the link idle, and what VPNs get then is nobody's share. An agent
// that shares it otherwise does so in all seconds.
func (n *network) shared(seconds time.Duration, least float64, weights ...float64) (x []float64) {
	n.T.Helper()
	await.Every(n.T, 0, fmt.Sprintf("F of 0.95 with weights %v, and %g Mbit/s", weights, least), func() bool {
		x = n.throughput(seconds * time.Second)
		f, all := vpnshare.Fairness(x, weights), 0.0
		for _, one := range x {
			all += one
		}
		n.T.Logf("Mbit/s %.1f, F %.3f", x, f)
		return f >= 0.95 && all >= least
	})
	return x
}

// TestWeightsAreKept: TCP of three VPNs through one bottleneck, weights 1, 2 and 4; then other weights, live.
func TestWeightsAreKept(t *testing.T) {
	n := newNetwork(t, 3)
	weights := n.Write("weights.yaml", "policy: test\nvpns: [{name: vpn1, weight: 1}, {name: vpn2, weight: 2}, {name: vpn3, weight: 4}]\n")
	pe1 := n.start(1, func(c *Configuration) { c.Weights = weights })
	n.start(2, nil)
	for vpn := 1; vpn <= 3; vpn++ {
		n.iperf(vpn, "-t", "600", "-P", "8")
	}
	n.shared(8, 85, 1, 2, 4) // of 100
	for _, f := range pe1.Flows() {
		t.Logf("%+v", f)
	}
	if err := pe1.SetWeights(map[string]float64{"vpn1": 4, "vpn3": 1}); err != nil {
		t.Fatal(err)
	}
	n.shared(4, 85, 4, 2, 1)
}

// TestAFloodGetsNoMore: a VPN of weight 1 sends UDP at five times its share beside TCP of weight 1.
func TestAFloodGetsNoMore(t *testing.T) {
	n := newNetwork(t, 2)
	pe1 := n.start(1, nil)
	n.start(2, nil)
	n.iperf(1, "-t", "600", "-P", "4")
	n.iperf(2, "-t", "600", "-u", "-b", "250M", "-l", "1400")
	if x := n.shared(8, 0, 1, 1); x[1] > 65 {
		t.Errorf("the flood has %.1f Mbit/s, the other VPN %.1f", x[1], x[0])
	}
	for _, f := range pe1.Flows() {
		if f.VPN == "vpn2" && f.Drops == 0 {
			t.Error("nothing of the flood was dropped at the PE")
		}
	}
}

// TestAPolicerIsAnswered: in mode police packets leave at once, however far the flow's clock is ahead, and so do
// requests; with the clock's time on them answers would come before their requests had departed. Of 50 possible
// time-outs, an agent that stalls for a moment has one. A shaper keeps the sender's rate: what a program that was late
// owes comes at once, passes the policer's burst and overflows the queue, and the law slows down for it.
func TestAPolicerIsAnswered(t *testing.T) {
	n := newNetwork(t, 1)
	n.In("left", "tc", "qdisc", "add", "dev", "c1", "root", "tbf", "rate", "250mbit", "burst", "4kb", "limit", "4mb")
	pe1 := n.start(1, func(c *Configuration) { c.Mode = "police" })
	n.start(2, nil)
	n.iperf(1, "-t", "150", "-u", "-b", "300M", "-l", "1400")
	carried(t, pe1, 120e6) // in 10 s, of 100 Mbit/s
	if f := pe1.Flows()[0]; f.Timeouts > 5 {
		t.Errorf("%d time-outs: %+v", f.Timeouts, f)
	}
	// A sender that is late leaves the link idle for as long, so what it fills is waited for.
	await.Every(t, 0, "the link of 100 Mbit/s carries 60, and the round-trip time is that through a queue of up to 12 ms", func() bool {
		x := n.throughput(2 * time.Second)
		f := pe1.Flows()[0]
		t.Logf("%.1f Mbit/s, %+v", x[0], f)
		return x[0] >= 60 && f.SRTT >= 2*minRTT // bursts of the clock's 128 packets meet a buffer of 100
	})
}

// carried waits until the first flow has carried so many octets.
func carried(t *testing.T, a *Agent, octets uint64) {
	t.Helper()
	await.True(t, fmt.Sprintf("the flow has carried %d octets", octets), func() bool {
		flows := a.Flows()
		return len(flows) > 0 && flows[0].Octets >= octets
	})
}

// started waits until the first flow's start is over, and it has carried so many octets after that. What it carried
// before says nothing: until the peer answers, a flood is not controlled, and requests are lost as its packets are.
func started(t *testing.T, a *Agent, octets uint64) {
	t.Helper()
	before := uint64(0)
	await.True(t, "the flow's start is over", func() bool {
		flows := a.Flows()
		if len(flows) == 0 || flows[0].Phase != law.CongestionAvoidance {
			return false
		}
		before = flows[0].Octets
		return true
	})
	carried(t, a, before+octets)
}

// packets reads a counter of a host's IPv4 (RFC 4293) in /proc/net/snmp.
func (n *network) packets(host, counter string) int64 {
	n.T.Helper()
	var names, values []string
	for line := range strings.Lines(n.In(host, "cat", "/proc/net/snmp")) {
		if f := strings.Fields(line); f[0] == "Ip:" {
			names, values = values, f
		}
	}
	got, err := strconv.ParseInt(values[slices.Index(names, counter)], 10, 64)
	if err != nil {
		n.T.Fatal(err)
	}
	return got
}

// TestRestartLosesNothing: a stream below the limit goes on while one agent takes over from another. The lowest limit
// is the rate at which a flow starts, 1.2 Mbit/s (law.Parameters.StartRate): how long it holds depends on when answers
// come. A shaper keeps the stream below it when its program was late and sends what it owes at once.
func TestRestartLosesNothing(t *testing.T) {
	besideAnother(t)
	n := newNetwork(t, 1)
	n.In("left", "tc", "qdisc", "add", "dev", "c1", "root", "tbf", "rate", "1mbit", "burst", "2kb", "limit", "4mb")
	pe1 := n.start(1, nil)
	n.start(2, nil)
	x := n.iperf(1, "-t", "600", "-u", "-b", "800k", "-l", "400")
	packets := uint64(0)
	controlled := func(more uint64) { // 250 packets take a second
		t.Helper()
		await.True(t, "the flow is controlled, and its counters go on", func() bool {
			flows := pe1.Flows()
			return len(flows) == 1 && flows[0].Phase != law.NoFeedback && flows[0].Packets >= packets+more
		})
		packets = pe1.Flows()[0].Packets
	}
	controlled(750)
	for range 2 {
		if err := pe1.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		pe1 = n.start(1, nil)
		controlled(250)
	}
	if err := x.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "what was sent has arrived", func() bool {
		lost := n.packets("left", "OutRequests") - n.packets("right", "InReceives")
		t.Logf("on the way or lost: %d; %+v", lost, pe1.Flows()[0])
		return lost == 0
	})
}

// ratesNearTheLinks wants most rates of the first flow between half and twice the link's, 100 Mbit/s. A rate is a
// window over a round trip, which has no queue in it where the sender does not fill the link, as on a host that is too
// busy; what it sends when it has the processor again fills the queue at once. So a rate counts only where the link
// rate was offered, passed or dropped by the flow's own limit, in each of the last intervals: some round trips in all,
// in which the law hears of the queue; and not while a flow starts again, whose peer was silent for PeerTimeout.
func ratesNearTheLinks(t *testing.T, a *Agent) {
	t.Helper()
	const link, samples, intervals = 100e6, 100, 4
	counted, idle, far, filled := 0, 0, 0, 0
	offered := func() float64 { // octets
		f := a.Flows()[0]
		return float64(f.Octets + 1428*f.Drops)
	}
	before, at := offered(), time.Now()
	await.Every(t, 20*time.Millisecond, "the sender has filled the link a hundred times", func() bool {
		f, now, total := a.Flows()[0], time.Now(), offered()
		if filled++; f.Phase != law.CongestionAvoidance || (total-before)*8 < link*now.Sub(at).Seconds() {
			filled = 0
		}
		before, at = total, now
		full := filled >= intervals
		switch {
		case !full:
			idle++
		case f.Rate < link/2 || f.Rate > 2*link:
			far++
			fallthrough
		default:
			counted++
		}
		return counted >= samples
	})
	t.Logf("%d of %d rates are below half or above twice the link's; %d times the sender did not fill it", far, counted, idle)
	if far > samples/10 {
		t.Errorf("%d of %d rates are below half or above twice the link's", far, counted)
	}
}

// TestFailOpen: an agent that dies leaves its rates for FailOpen, and then nothing is held back or dropped. Its last
// rate may be that of any moment, so it has to be near the link's at every one.
func TestFailOpen(t *testing.T) {
	besideAnother(t)
	const failOpen = 10 * time.Second // a test that is two seconds late still reads the rates that an agent left
	n := newNetwork(t, 1)
	pe1 := n.start(1, func(c *Configuration) { c.FailOpen = failOpen })
	n.start(2, nil)
	n.iperf(1, "-t", "600", "-u", "-b", "300M", "-l", "1400") // three times the link's rate
	started(t, pe1, 60e6)                                     // in 5 s: the rate is held for two of them
	ratesNearTheLinks(t, pe1)
	if err := pe1.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := ebpf.LoadPinnedMap(n.config(1).Pins+"/pe_flows", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	read := func() (f bpf.PeFlow) {
		if err := m.Lookup(uint32(0), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := read()
	await.True(t, "drops: the last rate holds after the agent's death", func() bool { return read().Drops > first.Drops })
	time.Sleep(failOpen)
	open, last := read(), bpf.PeFlow{}
	await.True(t, "a second's packets of the sender pass without an agent", func() bool {
		last = read()
		return last.Packets-open.Packets > 25_000
	})
	if last.Drops != open.Drops {
		t.Errorf("%d packets passed without an agent, and %d were dropped", last.Packets-open.Packets, last.Drops-open.Drops)
	}
}

// TestAPeerWithoutAgentIsLeftAlone: there is no answer, so nothing is shaped, and traffic flows.
func TestAPeerWithoutAgentIsLeftAlone(t *testing.T) {
	n := newNetwork(t, 1)
	pe1 := n.start(1, nil)
	n.iperf(1, "-t", "120", "-P", "2")
	// A link that stands still for 300 ms lacks a tenth of one reading; what an agent holds back is lacking in all.
	await.Every(t, 0, "85 of 100 Mbit/s without an answering peer", func() bool {
		x := n.throughput(3 * time.Second)
		t.Logf("%.1f Mbit/s", x[0])
		return x[0] >= 85
	})
	if f := pe1.Flows()[0]; f.Phase != law.NoFeedback || f.Rate != 0 {
		t.Errorf("%+v", f)
	}
}

// TestRemoveLeavesThePortsAsTheyWere compares what tc shows before and after.
func TestRemoveLeavesThePortsAsTheyWere(t *testing.T) {
	n := newNetwork(t, 1)
	dump := func() string {
		return n.In("pe1", "tc", "qdisc", "show") + n.In("pe1", "tc", "filter", "show", "dev", "core", "egress") + n.In("pe1", "tc", "filter", "show", "dev", "c1", "ingress")
	}
	before := dump()
	a := n.start(1, nil)
	if dump() == before {
		t.Fatal("nothing was attached")
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.Within("pe1", func() error { return Remove(n.config(1)) })
	if after := dump(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestRemoveBelowATokenBucket: a port whose rate a token bucket keeps carries packets again, in a queue as long as
// before.
func TestRemoveBelowATokenBucket(t *testing.T) {
	n := newNetwork(t, 1)
	n.In("pe1", "tc", "qdisc", "add", "dev", "core", "root", "handle", "1:", "tbf", "rate", "1gbit", "burst", "250k", "limit", "2000000")
	for range 2 { // and it can come back
		a := n.start(1, nil)
		n.In("left", "ping", "-c", "1", "-W", "2", "10.2.1.2")
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.Within("pe1", func() error { return Remove(n.config(1)) })
		n.In("left", "ping", "-c", "1", "-W", "2", "10.2.1.2")
		if got := n.In("pe1", "tc", "qdisc", "show", "dev", "core"); !strings.Contains(got, "bfifo") || !strings.Contains(got, "limit 2000000b") {
			t.Errorf("after removal:\n%s", got)
		}
	}
}

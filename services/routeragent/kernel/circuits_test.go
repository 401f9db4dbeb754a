package kernel

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/millrace/millrace/internal/testkit/await"
)

func end(last byte) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, 0, last}) }

// circuitsAt are two circuits with VLAN 100 at two ports of the first router.
func circuitsAt(node string) Spec {
	all := map[string][]Circuit{
		"p1": {
			{Name: "one", Port: "c1", VLAN: 100, VNI: 1, Local: end(2), Remote: end(3), Entered: 1, Left: 2},
			{Name: "two", Port: "c2", VLAN: 100, VNI: 2, Local: end(4), Remote: end(5), Entered: 3, Left: 4},
			{Name: "three", Port: "c2", VNI: 3, Local: end(6), Remote: end(7), Entered: 5, Left: 6},
		},
		"p2": {
			{Name: "one", Port: "c1", VLAN: 300, VNI: 1, Local: end(3), Remote: end(2), Entered: 1, Left: 2},
			{Name: "two", Port: "c2", VLAN: 100, VNI: 2, Local: end(5), Remote: end(4), Entered: 3, Left: 4},
			{Name: "three", Port: "c2", VLAN: 7, VNI: 3, Local: end(7), Remote: end(6), Entered: 5, Left: 6},
		},
	}
	s := Spec{Circuits: all[node]}
	for i := range s.Circuits {
		s.Circuits[i].Mark = Mark(1, 0)
	}
	return s
}

func (l *circuitLab) converge(spec func(string) Spec) {
	l.Helper()
	for n, k := range l.kernels {
		// The other router's addresses are behind the core link, its own are local.
		if err := converge(k, spec(n)); err != nil {
			l.Fatalf("%s: %v", n, err)
		}
	}
}

const (
	anyone = "ffffffffffff"
	lldp   = "0180c200000e"
)

func TestFramesOfAVLANComeOutAtTheOtherPort(t *testing.T) {
	l := newCircuitLab(t)
	before := map[string]string{"p1": l.dump("p1"), "p2": l.dump("p2")}
	l.converge(circuitsAt)
	h1, h2 := l.listen("h1"), l.listen("h2")

	l.send("h1",
		"c1 100 "+anyone+" 9000 long", "c1 101 "+anyone+" 46 other-vlan", "c1 0 "+anyone+" 46 untagged", "c1 100 "+lldp+" 46 lldp",
		"c1 100,5 "+anyone+" 46 two-tags", "c2 100 "+anyone+" 46 same-vlan", "c2 0 "+lldp+" 46 no-tag")
	got := h2.until("long", "lldp", "two-tags", "same-vlan", "no-tag")
	l.send("h1", "c1 100 "+anyone+" 46 end", "c2 100 "+anyone+" 46 end-2")
	if diff := cmp.Diff(append(got, h2.until("end", "end-2")...), []string{
		"c1 300 " + anyone + " 9014 long", "c1 300 " + lldp + " 60 lldp", "c1 300 " + anyone + " 64 two-tags",
		"c2 100 " + anyone + " 60 same-vlan", "c2 7 " + lldp + " 60 no-tag", "c1 300 " + anyone + " 60 end", "c2 100 " + anyone + " 60 end-2",
	}, cmp.Transformer("sorted", sortedLines)); diff != "" {
		t.Errorf("what came out (-got +want):\n%s", diff)
	}
	l.send("h2", "c1 300 "+anyone+" 9000 back", "c1 100 "+anyone+" 46 not-this", "c2 7 "+anyone+" 46 tag-goes",
		"c2 7,100 "+anyone+" 46 hops", "c2 7,0x88a8:100 "+anyone+" 46 hops")
	got = h1.until("back", "tag-goes")
	l.send("h2", "c1 300 "+anyone+" 46 end", "c2 100 "+anyone+" 46 end-2")
	if diff := cmp.Diff(append(got, h1.until("end", "end-2")...), []string{
		"c1 100 " + anyone + " 9014 back", "c2 0 " + anyone + " 60 tag-goes", "c1 100 " + anyone + " 60 end", "c2 100 " + anyone + " 60 end-2",
	}, cmp.Transformer("sorted", sortedLines)); diff != "" {
		t.Errorf("what came back (-got +want):\n%s", diff)
	}
	counters, err := l.kernels["p1"].RuleCounters([]int{1, 2, 3, 4, 5, 6})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]Counters{1: {4, 9014 + 3*60}, 2: {2, 9014 + 60}, 3: {2, 2 * 60}, 4: {1, 60}, 5: {1, 60}, 6: {1, 60}}
	if diff := cmp.Diff(counters, want); diff != "" {
		t.Errorf("counters (-got +want):\n%s", diff)
	}

	l.converge(func(string) Spec { return Spec{} })
	for n, want := range before {
		if diff := cmp.Diff(l.dump(n), want); diff != "" {
			t.Errorf("%s is not as before:\n%s", n, diff)
		}
	}
}

// TestAnAggregateCountsAsItsFrames: hosts and routers hand on several segments of TCP as one packet. On the wire each
// has headers of its own.
func TestAnAggregateCountsAsItsFrames(t *testing.T) {
	l := newCircuitLab(t)
	l.converge(circuitsAt)
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ip", append([]string{"netns", "exec", l.prefix + "h1", "python3", "-c", aggregate, "c2"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	run("1000", "4", "4500")
	run("1448", "6", "2896")
	const headers4, headers6 = 14 + 20 + 20 + 12, 14 + 40 + 20 + 12 // Ethernet, IP, TCP, its options
	want := Counters{Packets: 5 + 2, Octets: 5*headers4 + 4500 + 2*headers6 + 2896}
	for router, counter := range map[string]int{"p1": 5, "p2": 6} {
		var got map[int]Counters
		await.True(t, router+" has seen both", func() (seen bool) {
			var err error
			got, err = l.kernels[router].RuleCounters([]int{counter})
			return err != nil || got[counter].Packets >= want.Packets
		})
		if got[counter] != want {
			t.Errorf("%s counts %+v, want %+v", router, got[counter], want)
		}
	}
}

func sortedLines(lines []string) map[string]int {
	out := map[string]int{}
	for _, l := range lines {
		out[l]++
	}
	return out
}

// TestCircuitsChangeOneByOne: what stays is not touched, and counts on, with another path too; what is gone leaves
// nothing.
func TestCircuitsChangeOneByOne(t *testing.T) {
	l := newCircuitLab(t)
	l.converge(circuitsAt)
	h2 := l.listen("h2")
	l.send("h1", "c1 100 "+anyone+" 46 first")
	h2.until("first")
	l.converge(func(n string) Spec {
		s := circuitsAt(n)
		s.Circuits = s.Circuits[:1]
		s.Circuits[0].VLAN += 11
		s.Circuits[0].Mark = Mark(1, 7)
		return s
	})
	l.send("h1", "c1 100 "+anyone+" 46 old", "c2 100 "+anyone+" 46 gone", "c1 111 "+anyone+" 46 new")
	if diff := cmp.Diff(h2.until("new"), []string{"c1 311 " + anyone + " 60 new"}); diff != "" {
		t.Errorf("after a change (-got +want):\n%s", diff)
	}
	counters, err := l.kernels["p2"].RuleCounters([]int{2})
	if err != nil || counters[2].Packets != 2 {
		t.Errorf("a circuit that stays has counted %v (%v)", counters, err)
	}
	if got := l.run("p1", "ip -br addr show "+Overlay); !strings.Contains(got, "198.18.0.2/32") || strings.Contains(got, "198.18.0.4") {
		t.Errorf("addresses: %s", got)
	}
	// An agent that starts finds what is there, and touches nothing.
	before := l.counts("p1")
	k := l.restart("p1")
	k.Fault = func(step string) error { return fmt.Errorf("%s should not be needed", step) }
	s := circuitsAt("p1")
	s.Circuits = s.Circuits[:1]
	s.Circuits[0].VLAN += 11
	s.Circuits[0].Mark = Mark(1, 7)
	if err := converge(k, s); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(l.counts("p1"), before); diff != "" || before[1].Packets != 2 {
		t.Errorf("counters that an agent that starts found, %v, are other ones:\n%s", before, diff)
	}
	l.run("p1", "ip link del "+Overlay)
	if err := k.Verify(s); err == nil {
		t.Error("a device that is gone is not noticed")
	}
	k.Fault = nil
	if err := converge(k, s); err != nil {
		t.Error(err)
	}
	l.send("h1", "c1 111 "+anyone+" 46 repaired")
	h2.until("repaired")
	k.bpf.obj.Exits.Close()
	if err := k.bpf.recallCounters(); err == nil {
		t.Error("counters are taken for known although circuits cannot be read")
	}
}

// restart ends a router's agent and starts one that knows what is on disk and in the kernel.
func (l *circuitLab) restart(node string) *Kernel {
	l.Helper()
	old := l.kernels[node]
	old.Close()
	k, err := Open(Configuration{Namespace: l.spaces[node], Owned: old.owned.file}, slog.New(slog.DiscardHandler))
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(k.Close)
	l.kernels[node] = k
	return k
}

// counts are the counters of both directions of the first circuit.
func (l *circuitLab) counts(node string) map[int]Counters {
	l.Helper()
	got, err := l.kernels[node].RuleCounters([]int{1, 2})
	if err != nil {
		l.Fatal(err)
	}
	return got
}

func TestEveryStepOfACircuitMayFailAndIsUndone(t *testing.T) {
	l := newCircuitLab(t)
	k := l.kernels["p1"]
	before := l.dump("p1")
	for n := 1; ; n++ {
		steps := 0
		k.Fault = func(step string) error {
			if steps++; steps == n {
				return fmt.Errorf("step %d fails", n)
			}
			return nil
		}
		err := converge(k, circuitsAt("p1"))
		k.Fault = nil
		if err == nil && steps < n {
			break
		}
		if err := converge(k, Spec{}); err != nil {
			t.Fatalf("after step %d: %v", n, err)
		}
		if diff := cmp.Diff(l.dump("p1"), before); diff != "" {
			t.Fatalf("after step %d:\n%s", n, diff)
		}
	}
}

// Neighbours over addresses of link-local scope alone leave no other sign at a port than its labels.
func TestALabelLeadsOverAnInterface(t *testing.T) {
	label := 17
	shared := []*netlink.NexthopInfo{{LinkIndex: 3}, {LinkIndex: 4}}
	for index, want := range map[int]bool{2: true, 3: true, 4: true, 5: false} {
		routes := []netlink.Route{{LinkIndex: 5}, {MPLSDst: &label, LinkIndex: 2}, {MPLSDst: &label, MultiPath: shared}}
		if got, is := labelOver(routes, index); is != want || is && got != label {
			t.Errorf("interface %d: label %d, %t", index, got, is)
		}
	}
}

// TestWhatTheRouterNeedsAnInterfaceFor: addresses but those that every interface has.
func TestWhatTheRouterNeedsAnInterfaceFor(t *testing.T) {
	l := newCircuitLab(t)
	k := l.kernels["p1"]
	for _, c := range []struct{ script, port, use string }{
		{"", "c1", ""},
		{"", "core", "the router's own, with the address 10.0.0.1/24"},
		{"sysctl -qw net.ipv6.conf.c1.disable_ipv6=0", "c1", ""}, // has a link-local address, as every interface
		{"ip -6 addr add 2001:db8::1/64 dev c1 nodad", "c1", "the router's own, with the address 2001:db8::1/64"},
	} {
		if c.script != "" {
			l.run("p1", c.script)
		}
		if use, err := k.RouterUses(c.port); err != nil || use != c.use {
			t.Errorf("%s: %s is %q (%v), not %q", c.script, c.port, use, err, c.use)
		}
	}
	if _, err := k.RouterUses("gone"); err == nil {
		t.Error("an interface that is not there")
	}
	for name, want := range map[string][2]bool{"lo": {true, true}, "c1": {true, false}, "gone": {}} {
		if has, loopback := k.HasLink(name); has != want[0] || loopback != want[1] {
			t.Errorf("%s: %t, %t", name, has, loopback)
		}
	}
}

package peagent

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/peagent/law"
)

// prefixesNow lists what the datapath has, as "VPN id, prefix, PE".
func prefixesNow(t *testing.T, a *Agent) []string {
	t.Helper()
	pinned, err := a.dp.Pinned()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for id, prefixes := range pinned.Prefixes {
		for p, index := range prefixes {
			out = append(out, fmt.Sprintf("%d %s %s", id, p, a.reg.flows[index].pe()))
		}
	}
	slices.Sort(out)
	return out
}

// portsNow lists the VPN ids of ports in the datapath.
func portsNow(t *testing.T, a *Agent) []uint32 {
	t.Helper()
	pinned, err := a.dp.Pinned()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Values(pinned.Ports))
}

func (n *network) stop(a *Agent) {
	n.T.Helper()
	if err := a.Stop(n.T.Context()); err != nil {
		n.T.Fatal(err)
	}
}

// TestAnotherNumberingLeadsNobodyAstray: the ids of two VPNs change places while the agent is down.
func TestAnotherNumberingLeadsNobodyAstray(t *testing.T) {
	n := newNetwork(t, 2)
	a := n.start(1, nil)
	was := []string{"1 10.2.1.0/24 10.255.0.2", "2 10.2.2.0/24 10.255.0.2"}
	if d := cmp.Diff(prefixesNow(t, a), was); d != "" {
		t.Fatalf("first (-got +want):\n%s", d)
	}
	n.stop(a)
	a = n.start(1, func(c *Configuration) { c.VPNs[0].ID, c.VPNs[1].ID = 2, 1 })
	if d := cmp.Diff(prefixesNow(t, a), []string{"1 10.2.2.0/24 10.255.0.2", "2 10.2.1.0/24 10.255.0.2"}); d != "" {
		t.Errorf("after the ids changed places (-got +want):\n%s", d)
	}
	n.stop(a)
	a = n.start(1, func(c *Configuration) { c.VPNs = c.VPNs[:1] })
	if d := cmp.Diff(prefixesNow(t, a), was[:1]); d != "" || !slices.Equal(portsNow(t, a), []uint32{1}) {
		t.Errorf("after the second VPN left: ports of %v, prefixes (-got +want):\n%s", portsNow(t, a), d)
	}
	if left := n.In("pe1", "tc", "filter", "show", "dev", "c2", "ingress"); strings.TrimSpace(left) != "" {
		t.Errorf("its port still has a program:\n%s", left)
	}
}

// TestLearntPrefixesLastUntilFRRIsRead, and go where it does not know them any more.
func TestLearntPrefixesLastUntilFRRIsRead(t *testing.T) {
	n := newNetwork(t, 2)
	learning := func(c *Configuration) { c.VPNs[0].VRF, c.FRR.Every, c.FRR.Instance = "red", time.Hour, "nowhere" }
	a := n.start(1, learning)
	far := netip.MustParseAddr("10.255.0.9")
	routes := a.cfg.VPNs[0].configured()
	routes[netip.MustParsePrefix("192.0.2.0/24")], routes[netip.MustParsePrefix("2001:db8::/32")] = far, far
	if err := a.replaceRoutes(0, routes); err != nil {
		t.Fatal(err)
	}
	want := prefixesNow(t, a)
	if len(want) != 4 {
		t.Fatalf("prefixes %v", want)
	}
	n.stop(a)
	a = n.start(1, learning)
	if d := cmp.Diff(prefixesNow(t, a), want); d != "" {
		t.Errorf("after a restart, before FRR is read (-got +want):\n%s", d)
	}
	if err := a.replaceRoutes(0, a.cfg.VPNs[0].configured()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(prefixesNow(t, a), []string{"1 10.2.1.0/24 10.255.0.2", "2 10.2.2.0/24 10.255.0.2"}); d != "" {
		t.Errorf("after they were withdrawn (-got +want):\n%s", d)
	}
	n.stop(a)
	a = n.start(1, nil) // and a VPN that learns no more has what is configured
	if got := len(prefixesNow(t, a)); got != 2 {
		t.Errorf("%d prefixes, want 2", got)
	}
}

// TestAFlowWhosePeerFellSilentMeanwhileIsNotShaped: the rate that an earlier agent left holds until the peer is known
// to be silent, and not for ever. Programs answer without an agent, so those of the peer go, too.
func TestAFlowWhosePeerFellSilentMeanwhileIsNotShaped(t *testing.T) {
	besideAnother(t)
	for _, mode := range []string{"htb", "police"} {
		t.Run(mode, func(t *testing.T) {
			besideAnother(t)
			n := newNetwork(t, 1)
			in := func(c *Configuration) { c.Mode = mode }
			pe1, pe2 := n.start(1, in), n.start(2, in)
			n.iperf(1, "-t", "600", "-u", "-b", "800k", "-l", "400")
			await.True(t, "the flow is shaped", func() bool { return pe1.Flows()[0].Phase != law.NoFeedback && pe1.costs()[0] != 0 })
			n.stop(pe1)
			n.stop(pe2)
			n.Within("pe2", func() error { return Remove(pe2.cfg) })
			pe1 = n.start(1, in)
			await.True(t, "the peer is known to be silent", pe1.firstIsSilent)
			if f, cost := pe1.Flows()[0], pe1.costs()[0]; f.Rate != 0 || cost != 0 {
				t.Errorf("the flow is shaped at a cost of %d: %+v", cost, f)
			}
			if got := n.class(); mode == "htb" && got != "100200Mbit" {
				t.Errorf("the flow's class has a rate of %q; want that without a limit", got)
			}
		})
	}
}

// TestAnAgentMakesTheClassesOfRatesThatItTakesOver: the earlier agent had another mode, or somebody removed its qdisc.
// The law's first rate may be so near the old one that it is not written.
func TestAnAgentMakesTheClassesOfRatesThatItTakesOver(t *testing.T) {
	n := newNetwork(t, 1)
	a := n.start(1, func(c *Configuration) { c.Mode = "police" })
	a.mu.Lock()
	a.dp.SetRate(0, 1.25e6, 1e9)
	a.mu.Unlock()
	n.stop(a)
	n.start(1, func(c *Configuration) { c.Mode = "htb" })
	await.True(t, "the class has the rate", func() bool { return n.class() == "10020Kbit" })
}

// costs are those of the datapath by flow; 0 is not shaped.
func (a *Agent) costs() (out []uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.dp.Rates {
		out = append(out, r.Cost)
	}
	return out
}

func (a *Agent) firstIsSilent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reg.flows[0].warned
}

// class is the rate of the first flow's HTB class on PE1's core port as tc shows it; empty without a class.
func (n *network) class() string {
	n.T.Helper()
	for line := range strings.Lines(n.In("pe1", "tc", "class", "show", "dev", "core")) {
		if of, rate, ok := strings.Cut(line, " rate "); ok && strings.HasPrefix(of, "class htb 7c02:10 ") {
			return strings.Fields(rate)[0]
		}
	}
	return ""
}

func TestSameVPN(t *testing.T) {
	for name, c := range map[string]struct {
		ports  []int
		pinned map[int]uint32
		want   bool
	}{
		"its ports had the id":               {[]int{5, 6}, map[int]uint32{5: 1, 6: 1, 7: 2}, true},
		"one more port":                      {[]int{5, 9}, map[int]uint32{5: 1, 7: 2}, true},
		"another VPN had the id":             {[]int{7}, map[int]uint32{5: 1, 7: 2}, false},
		"a port came from another VPN":       {[]int{5, 7}, map[int]uint32{5: 1, 7: 2}, false},
		"nobody knows these ports":           {[]int{9}, map[int]uint32{5: 1}, false},
		"a VPN without ports shapes nothing": {nil, map[int]uint32{5: 1}, false},
	} {
		if got := sameVPN(1, c.ports, c.pinned); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAFullTableIsOneShortLine: it fails for each of thousands of routes.
func TestAFullTableIsOneShortLine(t *testing.T) {
	var errs []error
	for range 10_000 {
		errs = append(errs, nil, errFull)
	}
	if got, want := several(errs).Error(), "full\nfull\nfull\nand 9997 more"; got != want {
		t.Errorf("%.200q, want %q", got, want)
	}
	if several([]error{nil, nil}) != nil || !errors.Is(several([]error{nil, errFull}), errFull) {
		t.Error("none is none, and one stays itself")
	}
}

var errFull = errors.New("full")

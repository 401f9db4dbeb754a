package compile_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

// packet is what a rule can see of one.
type packet struct {
	src, dst         netip.Addr
	dscp             document.DSCP
	protocol         document.Protocol
	srcPort, dstPort uint16
}

// fate is what a policy decides.
type fate struct {
	queue string
	mark  document.DSCP
}

// The slow way: what the text of the policy says of one packet at one place, read field by field. Circuits first, then
// redirects, the narrowest pair of prefixes deciding; then the classes in their order; then the default queue.
func said(in compile.Input, circuits []compile.Circuit, pairs []compile.Pair, edge bool, p packet) fate {
	for _, c := range circuits {
		if slices.ContainsFunc(c.Matches, func(m compile.Match) bool { return obeys(m, p) }) {
			return fate{in.Policy.Redirect[compile.CircuitsRedirect(in.Policy)].Queue, p.dscp}
		}
	}
	best := -1
	for i, pair := range pairs {
		if pair.Src.Contains(p.src) && pair.Dst.Contains(p.dst) && (best < 0 || narrower(pair, pairs[best])) {
			best = i
		}
	}
	if best >= 0 {
		return fate{in.Policy.Redirect[pairs[best].Redirect].Queue, p.dscp}
	}
	for _, c := range in.Policy.Classes {
		here := c.At == document.WhereAll || (c.At == document.WhereEdge) == edge
		if here && (len(c.Match) == 0 || slices.ContainsFunc(c.Match, func(m document.Match) bool { return fits(m, p) })) {
			mark := p.dscp
			if c.Mark != nil {
				mark = *c.Mark
			}
			return fate{c.Queue, mark}
		}
	}
	for _, q := range in.Policy.Queues {
		if q.Default {
			return fate{q.Name, p.dscp}
		}
	}
	return fate{}
}

func narrower(a, b compile.Pair) bool { return a.Src.Bits()+a.Dst.Bits() > b.Src.Bits()+b.Dst.Bits() }

func fits(m document.Match, p packet) bool {
	within := func(list []document.Prefix, a netip.Addr) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(x document.Prefix) bool { return x.Contains(a) })
	}
	port := func(list []document.PortRange, n uint16) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(x document.PortRange) bool { return x.First <= n && n <= x.Last })
	}
	return within(m.Source, p.src) && within(m.Destination, p.dst) && (len(m.DSCP) == 0 || slices.Contains(m.DSCP, p.dscp)) &&
		(m.Protocol == 0 || m.Protocol == p.protocol) && port(m.SourcePorts, p.srcPort) && port(m.DestinationPorts, p.dstPort)
}

// planned is what a router that obeys the plan does with a packet that arrives on an interface.
func planned(plan compile.RouterPlan, on string, p packet) fate {
	for _, f := range plan.Filters {
		if !slices.Contains(f.Interfaces, on) {
			continue
		}
		for _, r := range f.Rules {
			if obeys(r.Match, p) {
				if r.Mark != nil {
					return fate{r.Queue, *r.Mark}
				}
				return fate{r.Queue, p.dscp}
			}
		}
	}
	for _, q := range plan.Queues {
		if q.Default {
			return fate{q.Name, p.dscp}
		}
	}
	return fate{}
}

func obeys(m compile.Match, p packet) bool {
	return (!m.Src.IsValid() || m.Src.Contains(p.src)) && (!m.Dst.IsValid() || m.Dst.Contains(p.dst)) &&
		(len(m.DSCPs) == 0 || slices.Contains(m.DSCPs, p.dscp)) && (m.Protocol == 0 || m.Protocol == p.protocol) &&
		(m.SrcPort == nil || (m.SrcPort.First <= p.srcPort && p.srcPort <= m.SrcPort.Last)) &&
		(m.DstPort == nil || (m.DstPort.First <= p.dstPort && p.dstPort <= m.DstPort.Last))
}

// Every packet that customers send waits where the policy says,
// whatever the compiler made of lists, families and filters.
func TestThePlanMeansWhatThePolicySays(t *testing.T) {
	for _, name := range policytest.Names(t) {
		if name == "shared-transit" {
			continue // its pairs enter at three routers; the test below knows one set of pairs
		}
		in := policytest.Read(t, name)
		result, err := compile.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(7, uint64(len(name))))
		met := map[fate]bool{}
		for range 20000 {
			p := randomPacket(random)
			for _, plan := range result.Plans {
				for _, port := range customersOf(plan) {
					want := said(in, beginning(in, result, plan.Router), entering(in, result, plan.Router), true, p)
					if got := planned(plan, port, p); got != want {
						t.Fatalf("%s, %s %s: %+v is %+v, the policy says %+v", name, plan.Router, port, p, got, want)
					}
					met[want] = true
				}
			}
		}
		if len(met) < 2 {
			t.Errorf("%s: all packets had one fate, so the test saw nothing", name)
		}
	}
}

// Behind the edge classes alone decide, where a policy redirects nothing.
func TestThePlanMeansWhatThePolicySaysBetweenRouters(t *testing.T) {
	for _, name := range policytest.Names(t) {
		in := policytest.Read(t, name)
		if len(in.Policy.Redirect) > 0 {
			continue
		}
		result, err := compile.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(11, uint64(len(name))))
		for range 5000 {
			p := randomPacket(random)
			for _, plan := range result.Plans {
				for _, f := range plan.Filters {
					if f.Name != compile.FilterCore {
						continue
					}
					want := said(in, nil, nil, false, p)
					if got := planned(plan, f.Interfaces[0], p); got != want {
						t.Fatalf("%s, %s %s: %+v is %+v, the policy says %+v", name, plan.Router, f.Interfaces[0], p, got, want)
					}
				}
			}
		}
	}
}

// OpenConfig lets an interface have a classifier or a forwarding policy, and one of it.
func TestNoInterfaceHasTwoFilters(t *testing.T) {
	for _, name := range policytest.Names(t) {
		result, err := compile.Compile(policytest.Read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, plan := range result.Plans {
			on := map[string]string{}
			for _, f := range plan.Filters {
				for _, i := range f.Interfaces {
					if other, twice := on[i]; twice {
						t.Errorf("%s, %s: %s has filters %s and %s", name, plan.Router, i, other, f.Name)
					}
					on[i] = f.Name
				}
			}
		}
	}
}

// entering are the pairs whose rules stand at a router's customer ports.
func entering(in compile.Input, result compile.Result, router string) []compile.Pair {
	var out []compile.Pair
	for _, p := range in.Pairs {
		skipped := slices.ContainsFunc(result.Skipped, func(s compile.Skipped) bool { return s.Pair == p.ID })
		if p.Ingress == router && !skipped {
			out = append(out, p)
		}
	}
	return out
}

// beginning are the circuits whose rules stand there.
func beginning(in compile.Input, result compile.Result, router string) []compile.Circuit {
	return slices.DeleteFunc(slices.Clone(in.Circuits), func(c compile.Circuit) bool {
		return c.Path.Nodes[0] != router || !slices.Contains(result.Circuits, c.ID)
	})
}

func customersOf(plan compile.RouterPlan) []string {
	var out []string
	for _, f := range plan.Filters {
		if f.Name == compile.FilterIngress || f.Name == compile.FilterEdge {
			out = append(out, f.Interfaces...)
		}
	}
	return out
}

// randomPacket is drawn from few values, so that rules are met often.
func randomPacket(r *rand.Rand) packet {
	pick := func(list ...int) int { return list[r.IntN(len(list))] }
	p := packet{
		dscp: document.DSCP(pick(0, 0, 1, 8, 44, 46, 48, 56, 10)), protocol: document.Protocol(pick(1, 6, 6, 17)),
		srcPort: uint16(pick(20, 873, 5000)), dstPort: uint16(pick(22, 873, 5060, 16384, 20000, 32768)),
	}
	if r.IntN(3) == 0 {
		nets := []string{"2001:db8:1::", "2001:db8:2::", "2001:db8:3::", "2001:db8:4::", "2001:db8:113::", "2001:db8:ffff::"}
		p.src, p.dst = netip.MustParseAddr(fmt.Sprint(nets[r.IntN(6)], 1+r.IntN(9))), netip.MustParseAddr(fmt.Sprint(nets[r.IntN(6)], 1+r.IntN(9)))
		return p
	}
	nets := []string{"192.0.2.", "192.0.2.", "198.51.100.", "203.0.113."}
	p.src, p.dst = netip.MustParseAddr(fmt.Sprint(nets[r.IntN(4)], r.IntN(256))), netip.MustParseAddr(fmt.Sprint(nets[r.IntN(4)], r.IntN(256)))
	return p
}

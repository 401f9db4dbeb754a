package compile_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

func fromTo(src, dst string) compile.Match {
	return compile.Match{Src: netip.MustParsePrefix(src), Dst: netip.MustParsePrefix(dst)}
}

// overCR is a circuit of the golden network that is booked from wr over cr to er.
func overCR(id string) compile.Circuit {
	return compile.Circuit{
		ID: id, Rate: 10e6, Matches: []compile.Match{fromTo("192.0.2.0/26", "198.51.100.0/26")},
		Path: compile.Path{
			Nodes: []string{"wr", "cr", "er"}, Links: []string{"10.255.0.1|10.0.13.1", "10.255.0.3|10.0.23.1"},
			Segments: []netip.Addr{netip.MustParseAddr("10.255.0.3"), netip.MustParseAddr("10.255.0.2")},
		},
	}
}

func compiled(t *testing.T, in compile.Input) compile.Result {
	t.Helper()
	got, err := compile.Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A circuit that cannot be mapped to an LSP is refused in words, and nothing else changes.
func TestACircuitThatCannotBeMappedIsRefusedAlone(t *testing.T) {
	for _, c := range []struct {
		why    string
		change func(*compile.Input, *compile.Circuit)
	}{
		{"adjacency SIDs are missing", func(_ *compile.Input, c *compile.Circuit) { c.Unmapped = "adjacency SIDs are missing" }},
		{`its id "Té" is no part of a name on routers`, func(_ *compile.Input, c *compile.Circuit) { c.ID = "Té" }},
		{"its path has no segments", func(_ *compile.Input, c *compile.Circuit) { c.Path.Segments = nil }},
		{"the path has no links", func(_ *compile.Input, c *compile.Circuit) { c.Path.Links = nil }},
		{"link gone of the path is no longer in the topology", func(_ *compile.Input, c *compile.Circuit) {
			c.Path.Links = []string{c.Path.Links[0], "gone"}
		}},
		{"its path has 2 routers and 2 links", func(_ *compile.Input, c *compile.Circuit) { c.Path.Nodes = []string{"wr", "er"} }},
		{"link 10.255.0.3|10.0.23.1 of its path goes from cr to er, and the path from wr to cr", func(_ *compile.Input, c *compile.Circuit) {
			c.Path.Links = []string{c.Path.Links[1], c.Path.Links[0]}
		}},
		{"link 10.255.0.3|10.0.23.1 of its path goes from cr to er, and the path from cr to wr", func(_ *compile.Input, c *compile.Circuit) {
			c.Path.Nodes = []string{"wr", "cr", "wr"}
		}},
		{"router cr of its path is not managed, so nothing keeps its rate there", func(in *compile.Input, _ *compile.Circuit) { unmanaged(in, "cr") }},
		{"router wr of its path is not managed, so nothing keeps its rate there", func(in *compile.Input, _ *compile.Circuit) { unmanaged(in, "wr") }},
		{"it names no traffic", func(_ *compile.Input, c *compile.Circuit) { c.Matches = nil }},
		{"its prefixes are not valid", func(_ *compile.Input, c *compile.Circuit) { c.Matches[0].Src = netip.Prefix{} }},
		{"its prefixes are not valid", func(_ *compile.Input, c *compile.Circuit) { c.Matches[0].Dst = netip.Prefix{} }},
		{"its traffic from 2001:db8::/32 to 198.51.100.0/26 is IPv6, and LSPs carry IPv4 in this version", func(_ *compile.Input, c *compile.Circuit) {
			c.Matches[0].Src = netip.MustParsePrefix("2001:db8::/32")
		}},
		{"its traffic from 192.0.2.0/26 to 2001:db8::/32 is IPv6, and LSPs carry IPv4 in this version", func(_ *compile.Input, c *compile.Circuit) {
			c.Matches[0].Dst = netip.MustParsePrefix("2001:db8::/32")
		}},
		{"its traffic from 192.0.2.0/27 to 198.51.100.0/27 is that of circuit c-w1-e1, which was first", func(_ *compile.Input, c *compile.Circuit) {
			c.Matches = append(c.Matches, fromTo("192.0.2.0/27", "198.51.100.0/27"))
		}},
		{"queue circuits guarantees 80Mbit/s of the 100Mbit/s from wr to cr, circuits before it have 50Mbit/s of that, and it needs 30.001Mbit/s; raise the queue's weight, or let services/circuits book less",
			func(_ *compile.Input, c *compile.Circuit) { c.Rate = 30_001_000 }},
		{"queue circuits guarantees 80Mbit/s of the 100Mbit/s from wr to cr, circuits before it have 50Mbit/s of that, and it needs 18446744.07370955Tbit/s; raise the queue's weight, or let services/circuits book less",
			func(_ *compile.Input, c *compile.Circuit) { c.Rate = ^units.Rate(0) }},
	} {
		t.Run(c.why, func(t *testing.T) {
			in := policytest.Read(t, "circuits-two-queue")
			in.Circuits = in.Circuits[:1]
			odd := overCR("odd")
			odd.From = in.Circuits[0].From.Add(time.Second)
			c.change(&in, &odd)
			if !in.Routers[0].Managed || !in.Routers[2].Managed {
				in.Circuits = nil
			}
			want := compiled(t, in)
			in.Circuits = append(in.Circuits, odd)
			got := compiled(t, in)
			if diff := cmp.Diff(got.Refused, []compile.Refused{{Circuit: odd.ID, Why: c.why}}); diff != "" {
				t.Errorf("refused (-got +want):\n%s", diff)
			}
			got.Refused = nil
			same := cmp.Options{cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}
			if diff := cmp.Diff(got, want, same); diff != "" {
				t.Errorf("the rest (-with +without):\n%s", diff)
			}
		})
	}
}

// A policy without a rule for circuits would remove them from routers: each is said to be refused.
func TestAPolicyWithoutARuleForCircuitsSaysSo(t *testing.T) {
	in := policytest.Read(t, "hntes-redirect")
	in.Circuits = []compile.Circuit{overCR("c")}
	want := []compile.Refused{{Circuit: "c", Why: "policy hntes-two-queue has no rule for circuits; add one with pairs: circuits under redirect:"}}
	if diff := cmp.Diff(compiled(t, in).Refused, want); diff != "" {
		t.Errorf("refused (-got +want):\n%s", diff)
	}
}

// What the queue guarantees is given to the last bit, on a link whose rate is known; later circuits take nothing back.
func TestRoomForCircuitsAtItsBounds(t *testing.T) {
	for name, c := range map[string]struct {
		rates     []units.Rate
		bandwidth units.Rate
		want      []string
	}{
		"exactly all":            {[]units.Rate{30e6, 50e6}, 100e6, []string{"c0", "c1"}},
		"a bit more":             {[]units.Rate{30e6, 50e6 + 1}, 100e6, []string{"c0"}},
		"the next one fits":      {[]units.Rate{30e6, 50e6 + 1, 50e6}, 100e6, []string{"c0", "c2"}},
		"a rate not known":       {[]units.Rate{30e9, 50e9}, 0, []string{"c0", "c1"}},
		"three come to more":     {[]units.Rate{30e6, 30e6, 30e6}, 100e6, []string{"c0", "c1"}},
		"nothing booked now":     {[]units.Rate{80e6, 0}, 100e6, []string{"c0", "c1"}},
		"a link of one bit/s":    {[]units.Rate{0, 1}, 1, []string{"c0"}},
		"the first is too large": {[]units.Rate{81e6, 80e6}, 100e6, []string{"c1"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := policytest.Read(t, "circuits-two-queue")
			in.Circuits = nil
			for i := range in.Links {
				in.Links[i].Bandwidth = c.bandwidth
			}
			for i, rate := range c.rates {
				circuit := overCR("c" + string(rune('0'+i)))
				circuit.Rate, circuit.Matches[0] = rate, fromTo("192.0.2."+string(rune('0'+i))+"/32", "198.51.100.0/26")
				in.Circuits = append(in.Circuits, circuit)
			}
			if diff := cmp.Diff(compiled(t, in).Circuits, c.want); diff != "" {
				t.Errorf("mapped (-got +want):\n%s", diff)
			}
		})
	}
}

// The circuit that began first keeps what it has, whatever the ids.
func TestACircuitThatBeginsLaterTakesNothing(t *testing.T) {
	in := policytest.Read(t, "circuits-two-queue")
	older, newer := overCR("z"), overCR("a")
	older.From = newer.From.Add(-time.Hour)
	in.Circuits = []compile.Circuit{newer, older}
	got := compiled(t, in)
	if !slices.Equal(got.Circuits, []string{"z"}) || len(got.Refused) != 1 {
		t.Errorf("mapped %v, refused %v; want z, which began first", got.Circuits, got.Refused)
	}
}

// Of one kind, circuits whose flows overlap are not both mapped; of two kinds, or without a packet in common, they are.
func TestCircuitsOfOverlappingFlows(t *testing.T) {
	flows := func(c compile.Circuit, protocol document.Protocol, src, dst *document.PortRange) compile.Circuit {
		c.Matches = slices.Clone(c.Matches)
		for i := range c.Matches {
			c.Matches[i].Protocol, c.Matches[i].SrcPort, c.Matches[i].DstPort = protocol, src, dst
		}
		return c
	}
	ports := func(first, last uint16) *document.PortRange { return &document.PortRange{First: first, Last: last} }
	older, newer := overCR("older"), overCR("newer")
	older.From = newer.From.Add(-time.Hour)
	older.Rate, newer.Rate = 1, 1
	for name, c := range map[string]struct {
		older, newer compile.Circuit
		refused      bool
	}{
		"all packets":                   {older, newer, true},
		"one protocol":                  {flows(older, 6, nil, nil), flows(newer, 6, nil, nil), true},
		"two protocols":                 {flows(older, 6, nil, nil), flows(newer, 17, nil, nil), false},
		"all, and a protocol":           {older, flows(newer, 6, nil, nil), false},
		"a protocol, and a port":        {flows(older, 6, nil, nil), flows(newer, 6, nil, ports(7, 7)), false},
		"ports that overlap":            {flows(older, 6, nil, ports(10, 20)), flows(newer, 6, nil, ports(20, 30)), true},
		"ports that overlap, turned":    {flows(older, 6, nil, ports(20, 30)), flows(newer, 6, nil, ports(10, 20)), true},
		"ports within others":           {flows(older, 6, nil, ports(10, 20)), flows(newer, 6, nil, ports(12, 13)), true},
		"ports beside each other":       {flows(older, 6, nil, ports(10, 20)), flows(newer, 6, nil, ports(21, 30)), false},
		"ports of two protocols":        {flows(older, 6, nil, ports(10, 20)), flows(newer, 17, nil, ports(10, 20)), false},
		"a source and a destination":    {flows(older, 6, ports(10, 20), nil), flows(newer, 6, nil, ports(10, 20)), true},
		"both ports, one of them apart": {flows(older, 6, ports(1, 1), ports(10, 20)), flows(newer, 6, ports(2, 2), ports(10, 20)), false},
		"both ports, and one":           {flows(older, 6, nil, ports(10, 20)), flows(newer, 6, ports(2, 2), ports(10, 20)), false},
	} {
		in := policytest.Read(t, "circuits-two-queue")
		in.Circuits = []compile.Circuit{c.newer, c.older}
		if got := compiled(t, in); slices.Contains(got.Circuits, "newer") == c.refused || !slices.Contains(got.Circuits, "older") {
			t.Errorf("%s: mapped %v, refused %v", name, got.Circuits, got.Refused)
		}
	}
}

// Paper 002's redirected pairs were only seen, circuits were requested: a pair within a circuit's traffic, narrower
// than it or the same, takes no packet from it on any router.
func TestACircuitsTrafficWinsOverAlphaPairs(t *testing.T) {
	in := policytest.Read(t, "circuits-and-alpha")
	for _, p := range []compile.Pair{
		{ID: "same", Src: netip.MustParsePrefix("192.0.2.0/27"), Dst: netip.MustParsePrefix("198.51.100.0/27")},
		{ID: "host", Src: netip.MustParsePrefix("192.0.2.9/32"), Dst: netip.MustParsePrefix("198.51.100.9/32")},
	} {
		p.Ingress, p.Egress, p.Redirect = "wr", "er", compile.AlphaRedirect(in.Policy)
		in.Pairs = append(in.Pairs, p)
	}
	got := compiled(t, in)
	p := packet{src: netip.MustParseAddr("192.0.2.9"), dst: netip.MustParseAddr("198.51.100.9")}
	for router, port := range map[string]string{"wr": "ge-w1", "er": "ge-wr"} {
		i := slices.IndexFunc(got.Plans, func(r compile.RouterPlan) bool { return r.Router == router })
		if queue := planned(got.Plans[i], port, p).queue; queue != "circuits" {
			t.Errorf("%s: the packet waits in queue %s, want circuits", router, queue)
		}
	}
}

// Of two circuits the one whose traffic is matched by ports wins over the other's prefixes.
func TestTheNarrowerCircuitWins(t *testing.T) {
	got := compiled(t, policytest.Read(t, "circuits-two-queue"))
	i := slices.IndexFunc(got.Plans, func(r compile.RouterPlan) bool { return r.Router == "wr" })
	for dstPort, want := range map[uint16]string{50500: "c-tool", 443: "c-w1-e1"} {
		p := packet{src: netip.MustParseAddr("192.0.2.2"), dst: netip.MustParseAddr("198.51.100.2"), protocol: document.Protocol(6), dstPort: dstPort}
		if rule := first(got.Plans[i], p); rule.Circuit != want || rule.LSP == "" {
			t.Errorf("port %d: rule %+v, want that of circuit %s", dstPort, rule, want)
		}
	}
}

// first is the rule of the ingress filter that decides about a packet.
func first(plan compile.RouterPlan, p packet) compile.Rule {
	for _, f := range plan.Filters {
		for _, r := range f.Rules {
			if f.Name == compile.FilterIngress && obeys(r.Match, p) {
				return r
			}
		}
	}
	return compile.Rule{}
}

// Each managed router of the booked path has one rule for each of the circuit's matches, and queues; no other has any.
// Behind the ingress there are two where the excess is best effort.
func TestOnlyTheBookedPathKnowsTheCircuit(t *testing.T) {
	for _, name := range policytest.Names(t) {
		in := policytest.Read(t, name)
		got := compiled(t, in)
		for _, c := range in.Circuits {
			if !slices.Contains(got.Circuits, c.ID) {
				continue
			}
			for _, plan := range got.Plans {
				want := 0
				if slices.Contains(c.Path.Nodes, plan.Router) {
					want = len(c.Matches)
				}
				if want > 0 && c.Excess == compile.ExcessBestEffort && plan.Router != c.Path.Nodes[0] {
					want *= 2
				}
				rules := 0
				for _, f := range plan.Filters {
					for _, r := range f.Rules {
						if r.Circuit == c.ID {
							rules++
						}
						if r.Circuit == c.ID && (r.LSP != "") != (plan.Router == c.Path.Nodes[0]) {
							t.Errorf("%s, %s: rule %+v", name, plan.Router, r)
						}
					}
				}
				if rules != want || want > 0 && len(plan.Ports) == 0 {
					t.Errorf("%s, %s: %d rules of circuit %s and %d ports, want %d rules", name, plan.Router, rules, c.ID, len(plan.Ports), want)
				}
			}
		}
	}
}

// A circuit that comes or goes changes no rule and no LSP of another, and another path is another LSP.
func TestCircuitsKeepTheirNames(t *testing.T) {
	in := policytest.Read(t, "circuits-two-queue")
	with, without := compiled(t, in), in
	without.Circuits = in.Circuits[1:2]
	i := slices.IndexFunc(with.Plans, func(r compile.RouterPlan) bool { return r.Router == "wr" })
	alone := compiled(t, without).Plans
	j := slices.IndexFunc(alone, func(r compile.RouterPlan) bool { return r.Router == "wr" })
	of := func(plan compile.RouterPlan) (out []compile.Rule) {
		for _, f := range plan.Filters {
			for _, r := range f.Rules {
				if r.Circuit == "c-tool" {
					out = append(out, r)
				}
			}
		}
		return out
	}
	a, b := of(with.Plans[i]), of(alone[j])
	if len(a) != 1 || len(b) != 1 || a[0].Sequence != b[0].Sequence || a[0].LSP != b[0].LSP {
		t.Errorf("rules %+v with another circuit, %+v without", a, b)
	}
	moved := overCR("c")
	direct := moved
	direct.Path.Segments = moved.Path.Segments[1:]
	if compile.CircuitLSPName(moved) == compile.CircuitLSPName(direct) {
		t.Error("two paths of a circuit have one LSP, so one could only replace the other")
	}
}

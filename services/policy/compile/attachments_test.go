package compile_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/policytest"
)

// between is a circuit from ge-w1 of wr to ge-e1 of er over cr, and straight back.
func between(id string, number uint32) compile.Circuit {
	out := overCR(id)
	out.Matches = nil
	end := func(port string, vlan int, last uint32) compile.End {
		return compile.End{Port: port, VLAN: vlan, Address: netip.AddrFrom4([4]byte{198, 18, 0, byte(last)})}
	}
	out.Ports = &compile.PortPair{
		Number: number, From: end("ge-w1", 100, 2*number), To: end("ge-e1", 300, 2*number+1),
		Back: compile.Path{Nodes: []string{"er", "wr"}, Links: []string{"10.255.0.2|10.0.12.2"}, Segments: []netip.Addr{netip.MustParseAddr("10.255.0.1")}},
	}
	return out
}

// inMPLS is between for routers that carry frames in MPLS.
func inMPLS(id string, number uint32) compile.Circuit {
	out := between(id, number)
	out.Ports.Frames = compile.FramesMPLS
	return out
}

// Frames in MPLS have no addresses on the way: their rules say that they are for labels alone.
func TestRulesForFramesInMPLSAreForTheirLabels(t *testing.T) {
	in := policytest.Read(t, "circuits-two-queue")
	in.Circuits = append(in.Circuits, inMPLS("l2-one", 1))
	n := 0
	for _, p := range compiled(t, in).Plans {
		for _, f := range p.Filters {
			for _, rule := range f.Rules {
				if of := rule.Circuit == "l2-one"; rule.Labelled != of {
					t.Errorf("%s %s: a rule of %s is for labels: %t", p.Router, f.Name, rule.Circuit, rule.Labelled)
				} else if of {
					n++
				}
			}
		}
	}
	if n != 3 {
		t.Errorf("%d rules, want those of cr and er there, and of wr back", n)
	}
}

// Where frames without a tag take the whole port, no other circuit is at it.
func TestAWholePortIsOneCircuits(t *testing.T) {
	untagged := func(id string, number uint32, frames compile.Frames) compile.Circuit {
		out := inMPLS(id, number)
		out.Ports.From.VLAN, out.Ports.Frames = 0, frames
		out.Ports.To.VLAN += int(number)
		return out
	}
	tagged := func(id string, number uint32, frames compile.Frames) compile.Circuit {
		out := untagged(id, number, frames)
		out.Ports.From.VLAN = 100 + int(number)
		return out
	}
	for _, c := range []struct {
		name, why     string
		first, second compile.Circuit
	}{
		{"a tag beside none", "port ge-w1 of wr is that of circuit l2-a, whose frames have no tag and take all of it there", untagged("l2-a", 1, compile.FramesMPLS), tagged("l2-b", 2, compile.FramesMPLS)},
		{"none beside a tag", "its frames have no tag and take all of port ge-w1 of wr, of which circuit l2-a has VLAN 101", tagged("l2-a", 1, compile.FramesMPLS), untagged("l2-b", 2, compile.FramesMPLS)},
		{"none beside none", "VLAN 0 of port ge-w1 of wr is that of circuit l2-a, which was first", untagged("l2-a", 1, compile.FramesMPLS), untagged("l2-b", 2, compile.FramesMPLS)},
		{"two tags", "", tagged("l2-a", 1, compile.FramesMPLS), tagged("l2-b", 2, compile.FramesMPLS)},
		{"a tag beside none, in VXLAN", "", untagged("l2-a", 1, compile.FramesVXLAN), tagged("l2-b", 2, compile.FramesVXLAN)},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := policytest.Read(t, "circuits-two-queue")
			in.Circuits = []compile.Circuit{c.first, c.second}
			for i := range in.Circuits {
				in.Circuits[i].Rate = 1e6
			}
			why := ""
			for _, refused := range compiled(t, in).Refused {
				why += refused.Why
			}
			if why != c.why {
				t.Errorf("refused because %q, want %q", why, c.why)
			}
		})
	}
}

// One circuit at a unit fails nobody else's plan.
func TestAnEndIsNoUnitWhereCircuitsAreUnits(t *testing.T) {
	for port, why := range map[string]string{
		"ge-w9.10": "ge-w9.10 of wr is a unit, and circuits there end at a whole port or at a VLAN of it", "ge-w9.0": "", "ge-w9": "",
	} {
		for _, c := range []compile.Circuit{inMPLS("l2-mpls", 1), between("l2-vxlan", 2)} {
			in := policytest.Read(t, "circuits-two-queue")
			for i := range in.Routers {
				if in.Routers[i].Name == "wr" {
					in.Routers[i].Interfaces = append(in.Routers[i].Interfaces, compile.Interface{Name: port})
				}
			}
			c.Ports.From.Port = port
			in.Circuits = []compile.Circuit{c}
			var want []compile.Refused
			if why != "" && c.Ports.Frames == compile.FramesMPLS {
				want = []compile.Refused{{Circuit: c.ID, Why: why}}
			}
			if diff := cmp.Diff(compiled(t, in).Refused, want); diff != "" {
				t.Errorf("%s at %s: refused (-got +want):\n%s", c.ID, port, diff)
			}
		}
	}
}

// attachedIn are the parts of the plans that circuits between ports have.
func attachedIn(r compile.Result) (out []string) {
	for _, p := range r.Plans {
		for _, a := range p.Attachments {
			lsp := slices.IndexFunc(p.LSPs, func(l compile.LSP) bool { return l.Name == a.LSP })
			out = append(out, fmt.Sprintf("%s: %s, end %s, %s.%d, %d from %s to %s, queue %s, LSP over %v", p.Router, a.Name, a.End, a.Port, a.VLAN, a.Number, a.Local, a.Remote, a.Queue, p.LSPs[lsp].Hops))
		}
		for _, f := range p.Filters {
			for _, rule := range f.Rules {
				if strings.HasPrefix(rule.Circuit, "l2") {
					out = append(out, fmt.Sprintf("%s %s: %s to %s, queue %s", p.Router, f.Name, rule.Match.Src, rule.Match.Dst, rule.Queue))
				}
			}
		}
	}
	return out
}

func TestACircuitBetweenPortsIsPlannedBothWays(t *testing.T) {
	in := policytest.Read(t, "circuits-two-queue")
	in.Circuits = []compile.Circuit{between("l2-one", 1)}
	got := compiled(t, in)
	if diff := cmp.Diff(got.Circuits, []string{"l2-one"}); diff != "" || len(got.Refused) > 0 {
		t.Fatalf("refused %v (-got +want):\n%s", got.Refused, diff)
	}
	if diff := cmp.Diff(attachedIn(got), []string{
		"cr transit: 198.18.0.2/32 to 198.18.0.3/32, queue circuits",
		"er: te-circuit-l2-one, end to, ge-e1.300, 1 from 198.18.0.3 to 198.18.0.2, queue circuits, LSP over [10.255.0.1]",
		"er transit: 198.18.0.2/32 to 198.18.0.3/32, queue circuits",
		"wr: te-circuit-l2-one, end from, ge-w1.100, 1 from 198.18.0.2 to 198.18.0.3, queue circuits, LSP over [10.255.0.3 10.255.0.2]",
		"wr transit: 198.18.0.3/32 to 198.18.0.2/32, queue circuits",
	}); diff != "" {
		t.Errorf("plans (-got +want):\n%s", diff)
	}
	// The same VLAN at another port is another one.
	other := between("l2-two", 2)
	other.Ports.From.Port, other.Ports.To.VLAN = "ge-wa", 301
	in.Circuits = append(in.Circuits, other)
	if got := compiled(t, in); len(got.Circuits) != 2 {
		t.Errorf("beside it: %v", got.Refused)
	}
}

func TestACircuitBetweenPortsThatCannotBeMappedIsRefusedAlone(t *testing.T) {
	for why, change := range map[string]func(*compile.Input, *compile.Circuit){
		"VLAN 100 of port ge-w1 of wr is that of circuit l2-first, which was first": func(_ *compile.Input, c *compile.Circuit) { c.Ports.To.VLAN++ },
		"VLAN 300 of port ge-e1 of er is that of circuit l2-first, which was first": func(_ *compile.Input, c *compile.Circuit) { c.Ports.From.VLAN++ },
		"port ge-cr of wr joins it to another router":                               func(_ *compile.Input, c *compile.Circuit) { c.Ports.From.Port = "ge-cr" },
		"router er has no port ge-x":                                                func(_ *compile.Input, c *compile.Circuit) { c.Ports.From.VLAN++; c.Ports.To.Port = "ge-x" },
		"its return path has no segments":                                           func(_ *compile.Input, c *compile.Circuit) { c.Ports.Back.Segments = nil },
		"its return path: the path has no links":                                    func(_ *compile.Input, c *compile.Circuit) { c.Ports.Back.Links = nil },
		"its return path goes from wr to er, and it from wr to er": func(_ *compile.Input, c *compile.Circuit) {
			c.Ports.Back.Nodes, c.Ports.Back.Links = []string{"wr", "er"}, []string{"10.255.0.1|10.0.12.1"}
		},
		"its end at wr has no address of IPv4": func(_ *compile.Input, c *compile.Circuit) { c.Ports.From.Address = netip.Addr{} },
		"its path has no segments":             func(_ *compile.Input, c *compile.Circuit) { c.Path.Segments = nil },
		"its return path: queue circuits guarantees 80Mbit/s of the 100Mbit/s from er to wr, circuits before it have 10Mbit/s of that, and it needs 75Mbit/s; raise the queue's weight, or let services/circuits book less": func(in *compile.Input, c *compile.Circuit) {
			c.Ports.From.VLAN, c.Ports.To.VLAN, c.Rate = 1, 1, 75e6
			in.Circuits[0].Path.Nodes, in.Circuits[0].Path.Links = []string{"wr", "er"}, []string{"10.255.0.1|10.0.12.1"}
		},
	} {
		t.Run(why, func(t *testing.T) {
			in := policytest.Read(t, "circuits-two-queue")
			odd := between("l2-odd", 2)
			odd.From = odd.From.AddDate(1, 0, 0)
			in.Circuits = []compile.Circuit{between("l2-first", 1), odd}
			change(&in, &in.Circuits[1])
			got := compiled(t, in)
			if diff := cmp.Diff(got.Refused, []compile.Refused{{Circuit: odd.ID, Why: why}}); diff != "" {
				t.Errorf("refused (-got +want):\n%s", diff)
			}
			in.Circuits = in.Circuits[:1]
			same := cmp.Options{cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}
			if diff := cmp.Diff(got.Plans, compiled(t, in).Plans, same); diff != "" {
				t.Errorf("the rest (-with +without):\n%s", diff)
			}
		})
	}
}

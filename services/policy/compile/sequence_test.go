package compile

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/millrace/millrace/services/policy/document"
)

func pairRule(src, dst string) Rule {
	return Rule{Pair: src + dst, Match: Match{Src: netip.MustParsePrefix(src), Dst: netip.MustParsePrefix(dst)}}
}

func numbers(rules ...Rule) map[string]uint32 {
	d := &draft{filters: map[string]*filterDraft{}}
	for _, r := range rules {
		d.rule(FilterIngress, r)
	}
	out := map[string]uint32{}
	for _, r := range d.filters[FilterIngress].rules {
		out[r.Pair+r.Class] = r.Sequence
	}
	return out
}

func TestAPairThatComesOrGoesRenumbersNobody(t *testing.T) {
	var all []Rule
	for i := range 2000 {
		all = append(all, pairRule(fmt.Sprintf("10.%d.%d.0/24", i/250, i%250), "198.51.100.0/24"))
	}
	class := Rule{Class: "bulk"}
	before, after := numbers(append(all[1:], class)...), numbers(append(all, class)...)
	for name, n := range before {
		if after[name] != n {
			t.Errorf("rule of %s was %d, is %d", name, n, after[name])
		}
	}
	if len(after) != len(before)+1 {
		t.Errorf("%d rules, want one more than %d", len(after), len(before))
	}
}

func TestTheNarrowerPairComesFirstAndClassesLast(t *testing.T) {
	got := numbers(Rule{Pair: "wide", Match: pairRule("10.0.0.0/16", "198.51.100.0/24").Match},
		Rule{Pair: "narrow", Match: pairRule("10.0.1.0/24", "198.51.100.0/24").Match},
		Rule{Pair: "host", Match: pairRule("10.0.1.1/32", "198.51.100.7/32").Match},
		Rule{Pair: "v6", Match: pairRule("::/0", "::/0").Match},
		Rule{Class: "rest"})
	for _, order := range [][2]string{{"host", "narrow"}, {"narrow", "wide"}, {"wide", "v6"}, {"v6", "rest"}} {
		if got[order[0]] >= got[order[1]] {
			t.Errorf("%s has %d, not before %s with %d", order[0], got[order[0]], order[1], got[order[1]])
		}
	}
}

func TestPairsOfOneHashGetNumbersOfTheirOwn(t *testing.T) {
	f := &filterDraft{taken: map[uint32]bool{}}
	r := pairRule("10.0.1.0/24", "198.51.100.0/24")
	first, second := f.sequence(r), f.sequence(r)
	if second != first+1 {
		t.Errorf("numbers %d and %d, want neighbours", first, second)
	}
}

func circuitRule(src, dst string) Rule {
	return Rule{Circuit: src + dst, Match: Match{Src: netip.MustParsePrefix(src), Dst: netip.MustParsePrefix(dst)}}
}

// Whatever their prefixes, circuits come before the pairs of IPv4; the number of a match is the same in every process.
func TestEveryCircuitComesBeforeEveryPairOfIPv4(t *testing.T) {
	widest, host := circuitSequence(circuitRule("0.0.0.0/0", "0.0.0.0/0").Match), circuitSequence(circuitRule("10.0.0.1/32", "10.0.0.2/32").Match)
	if pair := pairSequence(pairRule("10.0.0.1/32", "10.0.0.2/32").Match); host >= widest || widest >= pair {
		t.Errorf("a host's circuit has %d, the widest %d, the narrowest pair %d; want them in this order", host, widest, pair)
	}
	for name, change := range map[string]func(*Match){
		"a protocol":        func(m *Match) { m.Protocol = 6 },
		"a source port":     func(m *Match) { m.SrcPort = &document.PortRange{First: 20, Last: 21} },
		"a destination":     func(m *Match) { m.DstPort = &document.PortRange{First: 20, Last: 21} },
		"a DSCP":            func(m *Match) { m.DSCPs = append(m.DSCPs, 46) },
		"protocol and port": func(m *Match) { m.Protocol, m.SrcPort = 6, &document.PortRange{First: 20, Last: 21} },
	} {
		m := circuitRule("10.0.0.1/32", "10.0.0.2/32").Match
		change(&m)
		if got := circuitSequence(m); got >= host || got == 0 {
			t.Errorf("with %s it has %d, before %d", name, got, host)
		}
	}
}

// Of prefixes that are as long, what says more of a flow comes first, whatever the numbers' hashes; what is marked, as
// a circuit's own excess is behind its ingress, before all.
func TestCircuitsOfOneLengthAreInTheOrderOfTheirKinds(t *testing.T) {
	for i := range 200 {
		m := circuitRule(fmt.Sprintf("10.0.%d.0/24", i), "10.1.0.0/24").Match
		tcp, one, two := m, m, m
		tcp.Protocol, one.Protocol, two.Protocol = 6, 6, 6
		one.DstPort = &document.PortRange{First: 5000, Last: 5100}
		two.SrcPort, two.DstPort = &document.PortRange{First: 7, Last: 7}, one.DstPort
		marked := two
		marked.DSCPs = []document.DSCP{lowerEffort}
		narrower := circuitRule(fmt.Sprintf("10.0.%d.0/25", i), "10.1.0.0/24").Match
		var last uint32
		for at, m := range []Match{narrower, marked, two, one, tcp, m} {
			n := circuitSequence(m)
			if n <= last {
				t.Fatalf("number %d of 10.0.%d.0 is %d, behind %d", at, i, n, last)
			}
			last = n
		}
	}
}

// Port 0 is a port: a match that names it is another one than a match that names none.
func TestARuleForPort0LosesNoOther(t *testing.T) {
	named := &document.PortRange{}
	udp := Match{Protocol: document.UDP}
	from, to, both := udp, udp, udp
	from.SrcPort, to.DstPort, both.SrcPort, both.DstPort = named, named, named, named
	got := numbers(Rule{Class: "both", Match: both}, Rule{Class: "from", Match: from}, Rule{Class: "to", Match: to}, Rule{Class: "udp", Match: udp}, Rule{Class: "again", Match: from})
	for i, name := range []string{"both", "from", "to", "udp"} {
		if want := uint32(i+1) * sequenceStep; got[name] != want {
			t.Errorf("rule %d of %s, want %d", got[name], name, want)
		}
	}
	if got["again"] != 0 {
		t.Errorf("a second rule for one match: %d", got["again"])
	}
}

package compile_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

// unmanaged is the input with a router that Millrace knows and does not configure.
func unmanaged(in *compile.Input, name string) {
	i := slices.IndexFunc(in.Routers, func(r compile.Router) bool { return r.Name == name })
	in.Routers[i].Managed = false
}

// Why a pair of hntes-redirect, which requests an LSP from wr to er, is left out.
func TestPairsWithoutAnLSPAreLeftOutWithTheReason(t *testing.T) {
	v4, v6 := netip.MustParsePrefix("192.0.2.0/26"), netip.MustParsePrefix("2001:db8::/32")
	paths := func(in *compile.Input, change func(*compile.Path)) {
		for d, p := range in.Paths {
			change(&p)
			in.Paths[d] = p
		}
	}
	for _, c := range []struct {
		why    string
		change func(*compile.Input, *compile.Pair)
	}{
		{"nobody originates it", func(_ *compile.Input, p *compile.Pair) { p.Unmapped = "nobody originates it" }},
		{"its prefixes are not valid", func(_ *compile.Input, p *compile.Pair) { p.Src = netip.Prefix{} }},
		{"its prefixes are not valid", func(_ *compile.Input, p *compile.Pair) { p.Dst = netip.Prefix{} }},
		{"it is IPv6, and LSPs carry IPv4 in this version", func(_ *compile.Input, p *compile.Pair) { p.Src = v6 }},
		{"it is IPv6, and LSPs carry IPv4 in this version", func(_ *compile.Input, p *compile.Pair) { p.Dst = v6 }},
		{"it is IPv6, and LSPs carry IPv4 in this version", func(_ *compile.Input, p *compile.Pair) { p.Src, p.Dst = v6, v6 }},
		{"it enters and leaves at wr, so there is no path to choose", func(_ *compile.Input, p *compile.Pair) { p.Egress = "wr" }},
		{"its ingress router wr is not managed", func(in *compile.Input, _ *compile.Pair) { unmanaged(in, "wr") }},
		{"its ingress router x is not managed", func(_ *compile.Input, p *compile.Pair) { p.Ingress = "x" }},
		{"no path from wr to cr", func(_ *compile.Input, p *compile.Pair) { p.Egress = "cr" }},
		{"cr is far too narrow", func(in *compile.Input, p *compile.Pair) {
			p.Egress = "cr"
			in.NoPath = map[compile.Demand]string{{From: "wr", To: "cr", LSP: *in.Policy.Redirect[0].LSP}: "cr is far too narrow"}
		}},
		{"the path has no segments", func(in *compile.Input, _ *compile.Pair) { paths(in, func(p *compile.Path) { p.Segments = nil }) }},
		{"the path has no links", func(in *compile.Input, _ *compile.Pair) { paths(in, func(p *compile.Path) { p.Links = nil }) }},
		{"link gone of the path is no longer in the topology", func(in *compile.Input, _ *compile.Pair) {
			paths(in, func(p *compile.Path) { p.Links = []string{p.Links[0], "gone"} })
		}},
	} {
		t.Run(c.why, func(t *testing.T) {
			in := policytest.Read(t, "hntes-redirect")
			pair := compile.Pair{ID: "p", Src: v4, Dst: netip.MustParsePrefix("198.51.100.0/26"), Ingress: "wr", Egress: "er"}
			c.change(&in, &pair)
			in.Pairs = []compile.Pair{pair}
			got, err := compile.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got.Skipped, []compile.Skipped{{Pair: "p", Why: c.why}}); diff != "" {
				t.Errorf("skipped (-got +want):\n%s", diff)
			}
			for _, plan := range got.Plans {
				if len(plan.Filters)+len(plan.LSPs) > 0 {
					t.Errorf("%s has rules for the pair: %+v", plan.Router, plan)
				}
			}
		})
	}
}

// The same for pairs that stay on the IGP's paths.
func TestPairsWithoutAPathAreLeftOutWithTheReason(t *testing.T) {
	for _, c := range []struct {
		why    string
		change func(*compile.Input, *compile.Pair)
	}{
		{"no path from wr to er", func(in *compile.Input, _ *compile.Pair) { in.ECMP = nil }},
		{"er is cut off", func(in *compile.Input, _ *compile.Pair) {
			in.ECMP, in.Unreachable = nil, map[compile.RouterPair]string{{From: "wr", To: "er"}: "er is cut off"}
		}},
		{"link gone of the path is no longer in the topology", func(in *compile.Input, _ *compile.Pair) {
			in.ECMP = map[compile.RouterPair][]compile.Path{{From: "wr", To: "er"}: {{Links: []string{"gone"}}}}
		}},
		{"link gone of the path is no longer in the topology", func(in *compile.Input, _ *compile.Pair) {
			r := compile.RouterPair{From: "wr", To: "er"}
			in.ECMP = map[compile.RouterPair][]compile.Path{r: append(slices.Clone(in.ECMP[r]), compile.Path{Links: []string{"gone"}})}
		}},
		{"its router wr is not managed", func(in *compile.Input, p *compile.Pair) {
			unmanaged(in, "wr")
			p.Egress = "wr"
		}},
		{"its router x is not managed", func(_ *compile.Input, p *compile.Pair) { p.Ingress, p.Egress = "x", "x" }},
	} {
		t.Run(c.why, func(t *testing.T) {
			in := policytest.Read(t, "every-word")
			pair := compile.Pair{
				ID: "p", Src: netip.MustParsePrefix("192.0.2.0/26"), Dst: netip.MustParsePrefix("198.51.100.0/26"), Ingress: "wr", Egress: "er", Redirect: 3,
			}
			c.change(&in, &pair)
			in.Pairs = []compile.Pair{pair}
			got, err := compile.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got.Skipped, []compile.Skipped{{Pair: "p", Why: c.why}}); diff != "" {
				t.Errorf("skipped (-got +want):\n%s", diff)
			}
			if rules := rulesOf(got, "p"); len(rules) > 0 {
				t.Errorf("rules of a pair that is left out: %v", rules)
			}
		})
	}
}

// rulesOf are the rules of a pair on all routers.
func rulesOf(result compile.Result, pair string) (out []string) {
	for _, plan := range result.Plans {
		for _, f := range plan.Filters {
			for _, r := range f.Rules {
				if r.Pair == pair {
					out = append(out, plan.Router+" "+f.Name)
				}
			}
		}
	}
	return out
}

// A path over a link that is not there is of another topology, whatever it is a path for.
func TestAPathOfAnotherTopologyIsNotKnown(t *testing.T) {
	for _, name := range []string{"hntes-redirect", "every-word", "weighted-lsps"} {
		in := policytest.Read(t, name)
		if !in.Known() {
			t.Errorf("%s: not known", name)
		}
		in.Links = nil
		if in.Known() {
			t.Errorf("%s: known without links", name)
		}
	}
}

// A queue must guarantee what an LSP of the policy requests, where the bottleneck is known: 95 of 100 Mbit/s.
func TestMinimumBandwidthAtItsBounds(t *testing.T) {
	for name, c := range map[string]struct {
		minimum, bottleneck uint64
		ok                  bool
	}{
		"exactly what the queue guarantees":     {95e6, 100e6, true},
		"a bit more":                            {95e6 + 1, 100e6, false},
		"a bottleneck that is not known":        {96e6, 0, true},
		"nothing asked for":                     {0, 100e6, true},
		"half of it on a port half as fast":     {47.5e6, 50e6, true},
		"all of a port that is half as fast":    {50e6, 50e6, false},
		"little, where the bottleneck is small": {1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := policytest.Read(t, "hntes-redirect")
			in.Policy.Redirect = slices.Clone(in.Policy.Redirect)
			var path compile.Path
			for _, p := range in.Paths {
				path = p
			}
			path.Bottleneck = units.Rate(c.bottleneck)
			in.Policy.Redirect[0].LSP = &document.LSP{AvoidShortest: true, MinBandwidth: units.Rate(c.minimum)}
			in.Paths = map[compile.Demand]compile.Path{{From: "wr", To: "er", LSP: *in.Policy.Redirect[0].LSP}: path}
			if _, err := compile.Compile(in); (err == nil) != c.ok {
				t.Errorf("error %v, want none: %v", err, c.ok)
			}
		})
	}
}

// Of two rules for one pair the first in the file decides: no router has an LSP, queues or rules for the second.
func TestTheSecondRuleForAPairMakesNothing(t *testing.T) {
	in := policytest.Read(t, "hntes-redirect")
	direct := slices.IndexFunc(in.Links, func(l compile.Link) bool { return l.From == "wr" && l.To == "er" })
	er := slices.IndexFunc(in.Routers, func(r compile.Router) bool { return r.Name == "er" })
	second := compile.Demand{From: "wr", To: "er", LSP: document.LSP{MinBandwidth: 1}}
	in.Policy.Redirect = append(in.Policy.Redirect, document.Redirect{Queue: in.Policy.Redirect[0].Queue, LSP: &second.LSP})
	in.Paths[second] = compile.Path{Nodes: []string{"wr", "er"}, Links: []string{in.Links[direct].ID}, Segments: []netip.Addr{in.Routers[er].Loopback}}
	first := in.Pairs[slices.IndexFunc(in.Pairs, func(p compile.Pair) bool { return p.Ingress == "wr" && p.Egress == "er" && p.Unmapped == "" })]
	again := first
	again.ID, again.Redirect = "again", 1
	compiled := func(pairs ...compile.Pair) compile.Result {
		in.Pairs = pairs
		out, err := compile.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff(compiled(first, again).Plans, compiled(first).Plans, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
		t.Errorf("with the second rule (-) and without (+):\n%s", diff)
	}
	lost := first
	lost.Unmapped = "its exporter is not known"
	if got := compiled(lost, again); len(got.Skipped) != 1 || len(got.Plans) == 0 {
		t.Errorf("where the first rule leaves the pair out, the second has %d plans; left out %v", len(got.Plans), got.Skipped)
	}
	lost = again
	lost.Unmapped = "no tag of its flows"
	if got := compiled(first, lost); len(got.Skipped) != 1 || got.Skipped[0].Pair != "again" {
		t.Errorf("left out %v", got.Skipped)
	}
}

// A circuit has all packets of a pair with its prefixes: the pair has no LSP to which no rule leads. A pair that enters
// elsewhere has one.
func TestAPairWhoseTrafficIsACircuitsMakesNothing(t *testing.T) {
	in := policytest.Read(t, "circuits-and-alpha")
	i := slices.IndexFunc(in.Circuits, func(c compile.Circuit) bool { return len(c.Matches) > 0 && c.Matches[0].Protocol == 0 })
	in.Circuits = in.Circuits[i : i+1]
	match := in.Circuits[0].Matches[0]
	same := compile.Pair{ID: "same", Src: match.Src, Dst: match.Dst, Ingress: "wr", Egress: "er", Redirect: compile.AlphaRedirect(in.Policy)}
	pairs := func(list ...compile.Pair) compile.Result {
		in.Pairs = list
		return compiled(t, in)
	}
	if diff := cmp.Diff(pairs(same).Plans, pairs().Plans, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
		t.Errorf("with the pair (-) and without (+):\n%s", diff)
	}
	in.Circuits = nil
	if len(rulesOf(pairs(same), "same")) == 0 {
		t.Error("the pair has no rule where there is no circuit")
	}
}

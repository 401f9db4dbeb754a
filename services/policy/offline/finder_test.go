package offline

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// square has two paths of equal cost from a to d, and a customer's prefix behind d.
const square = `routers:
  - {name: a, loopback: 10.255.0.1, interfaces: [{name: b}, {name: c}]}
  - {name: b, loopback: 10.255.0.2, interfaces: [{name: a}, {name: d}]}
  - {name: c, loopback: 10.255.0.3, interfaces: [{name: a}, {name: d}]}
  - {name: d, loopback: 10.255.0.4, interfaces: [{name: b}, {name: c}, {name: cust, addresses: [198.51.100.1/24]}]}
links:
  - {from: a, to: b, egress: b, ingress: a, bandwidth: 1Gbit/s}
  - {from: b, to: d, egress: d, ingress: b, bandwidth: 1Gbit/s}
  - {from: a, to: c, egress: c, ingress: a, bandwidth: 10Gbit/s}
  - {from: c, to: d, egress: d, ingress: c, bandwidth: 10Gbit/s}
`

func TestPathsAreComputedOverTheFilesNetwork(t *testing.T) {
	n, err := Parse([]byte(square))
	if err != nil {
		t.Fatal(err)
	}
	find, err := NewFinder(n)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(find.PrefixOwners(netip.MustParsePrefix("198.51.100.0/25")), []string{"d"}); diff != "" {
		t.Errorf("owners (-got +want):\n%s", diff)
	}
	equal, err := find.ECMP(compile.RouterPair{From: "a", To: "d"})
	if err != nil || len(equal) != 2 {
		t.Errorf("%d equal-cost paths, error %v; want over b and over c", len(equal), err)
	}
	wide, err := find.Path(compile.Demand{From: "a", To: "d", LSP: document.LSP{MinBandwidth: 5e9}})
	if diff := cmp.Diff(wide.Links, []string{"a|c|c", "c|d|d"}); diff != "" || err != nil {
		t.Errorf("error %v, links of the path with 5 Gbit/s (-got +want):\n%s", err, diff)
	}
	if _, err := find.ECMP(compile.RouterPair{From: "a", To: "e"}); err == nil {
		t.Error("a path to a router that is not in the file")
	}
}

// The same of a queue of 50 %: of 1 and 10 Gbit/s it has 5.5 together, and 5.6 of nothing.
func TestASetHasWhatTheQueueIsToBeGuaranteed(t *testing.T) {
	n, err := Parse([]byte(square))
	if err != nil {
		t.Fatal(err)
	}
	find, err := NewFinder(n)
	if err != nil {
		t.Fatal(err)
	}
	pair := Pair{Ingress: "a", Egress: "d", Src: netip.MustParsePrefix("192.0.2.0/24"), Dst: netip.MustParsePrefix("198.51.100.0/24")}
	n.Pairs = []Pair{pair}
	for least, paths := range map[units.Rate]int{5e9: 1, 5.5e9: 2, 5.6e9: 0} {
		p := document.Policy{
			Queues:   []document.Queue{{Name: "half", Weight: 50}},
			Redirect: []document.Redirect{{Pairs: document.SourceAlpha, Queue: "half", LSP: &document.LSP{Paths: 3, MinBandwidth: least}}},
		}
		in := n.Input(p, find)
		d := compile.Demands(p, in.Pairs)[0]
		if got := in.Sets[d]; len(got) != paths || paths == 0 != strings.Contains(in.NoPath[d], "11.2Gbit/s") {
			t.Errorf("%s: %d paths (%s), want %d", least, len(got), in.NoPath[d], paths)
		}
	}
}

// The nearest egress is the one of the least cost, as in a plan for the live network: over two links of 10 rather than
// one of 100, and of equal ones the first by name.
func TestTheNearestEgressIsByCost(t *testing.T) {
	for metric, want := range map[string]string{"100": "e2", "20": "e1", "21": "e2"} {
		n, err := Parse([]byte(`routers:
  - {name: a, loopback: 10.255.0.1, interfaces: [{name: b}, {name: e1}]}
  - {name: b, loopback: 10.255.0.2, interfaces: [{name: a}, {name: e2}]}
  - {name: e2, loopback: 10.255.0.3, interfaces: [{name: b}, {name: cust, addresses: [198.51.100.2/24]}]}
  - {name: e1, loopback: 10.255.0.4, interfaces: [{name: a}, {name: cust, addresses: [198.51.100.1/24]}]}
links:
  - {from: a, to: e1, egress: e1, ingress: a, bandwidth: 1Gbit/s, metric: ` + metric + `}
  - {from: a, to: b, egress: b, ingress: a, bandwidth: 1Gbit/s}
  - {from: b, to: e2, egress: e2, ingress: b, bandwidth: 1Gbit/s}
`))
		if err != nil {
			t.Fatal(err)
		}
		find, err := NewFinder(n)
		if err != nil {
			t.Fatal(err)
		}
		n.Pairs = []Pair{{Ingress: "a", Src: netip.MustParsePrefix("192.0.2.0/24"), Dst: netip.MustParsePrefix("198.51.100.0/24")}}
		in := n.Input(document.Policy{Redirect: []document.Redirect{{Pairs: document.SourceAlpha}}}, find)
		if got := in.Pairs[0].Egress; got != want {
			t.Errorf("with a metric of %s: %s, want %s", metric, got, want)
		}
	}
}

func TestAFinderNeedsEveryLoopback(t *testing.T) {
	n, err := Parse([]byte("routers: [{name: a}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewFinder(n); err == nil || !strings.Contains(err.Error(), "router a has no loopback") {
		t.Errorf("error %v, want the router without a loopback", err)
	}
}

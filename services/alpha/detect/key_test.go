package detect

import (
	"net/netip"
	"testing"
	"time"
)

// A filter entry has prefixes of one family: a flow without them belongs to no pair.
func TestFlowsThatBelongToNoPair(t *testing.T) {
	v4, v6 := netip.MustParseAddrPort("10.1.0.5:1"), netip.MustParseAddrPort("[2001:db8::1]:1")
	for name, c := range map[string]struct {
		src, dst netip.AddrPort
		ok       bool
	}{
		"IPv4 to IPv4":    {v4, v4, true},
		"IPv6 to IPv6":    {v6, v6, true},
		"IPv4 to IPv6":    {v4, v6, false},
		"IPv6 to IPv4":    {v6, v4, false},
		"IPv4 to nowhere": {v4, netip.AddrPort{}, false},
		"IPv6 to nowhere": {v6, netip.AddrPort{}, false},
		"from nowhere":    {netip.AddrPort{}, v4, false},
		"nothing at all":  {netip.AddrPort{}, netip.AddrPort{}, false},
	} {
		key, ok := DefaultRule().KeyOf(Sum{Exporter: wr, Flow: Flow{Src: c.src, Dst: c.dst}})
		if ok != c.ok || !ok && key != (Key{}) {
			t.Errorf("%s: %v %v, want %v", name, key, ok, c.ok)
		}
	}
}

// Pairs are written to the store where they are not Equal: what differs in one field only must not be lost.
func TestPairsThatDifferInOneFieldAreNotEqual(t *testing.T) {
	pair := func() Pair {
		return Run(DefaultRule(), nil, Input{Sums: []Sum{sum(wr, "10.1.0.5:1", "10.2.0.9:2", t0, 2e9)}}, t0).Pairs[0]
	}
	elsewhere := pair()
	elsewhere.FirstSeen = elsewhere.FirstSeen.In(time.FixedZone("", 3600))
	if !pair().Equal(elsewhere) {
		t.Error("the same moment in another time zone is another pair")
	}
	for name, change := range map[string]func(*Pair){
		"exporter":         func(p *Pair) { p.Key.Exporter = er },
		"source":           func(p *Pair) { p.Key.Prefixes.Src = p.Key.Prefixes.Dst },
		"first seen":       func(p *Pair) { p.FirstSeen = p.FirstSeen.Add(1) },
		"last seen":        func(p *Pair) { p.LastSeen = p.LastSeen.Add(1) },
		"last alpha flow":  func(p *Pair) { p.LastAlpha = p.LastAlpha.Add(1) },
		"evidence":         func(p *Pair) { p.Evidence[0].Bytes++ },
		"no more evidence": func(p *Pair) { p.Evidence = nil },
	} {
		p := pair()
		if change(&p); p.Equal(pair()) || pair().Equal(p) {
			t.Errorf("%s: pairs that differ in it are equal", name)
		}
	}
}

package topology

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/topo"
)

// Facts are of both directions; those of one of two parallel links are of that one, and the last fact counts.
func TestFactsOfLinks(t *testing.T) {
	one, two := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	s := topo.Snapshot{Nodes: []topo.Node{{ID: one}, {ID: two}}}
	for _, net := range []string{"10.1.0.", "10.2.0."} {
		near, far := netip.MustParseAddr(net+"1"), netip.MustParseAddr(net+"2")
		s.Links = append(s.Links,
			topo.Link{ID: "1 to 2 by " + net, From: one, To: two, LocalAddress: near, RemoteAddress: far},
			topo.Link{ID: "2 to 1 by " + net, From: two, To: one, LocalAddress: far, RemoteAddress: near})
	}
	inventory := &device.Inventory{Devices: []device.Device{{Name: "wr", Loopback: one}}}
	ports := map[string][]topo.Interface{"wr": {
		{Name: "eth1", Addresses: []netip.Prefix{netip.MustParsePrefix("10.1.0.1/30")}}, {Name: "eth2", Addresses: []netip.Prefix{netip.MustParsePrefix("10.2.0.1/30")}},
	}}
	type told struct {
		delay  uint32
		risks  []uint32
		groups uint64
	}
	for name, tc := range map[string]struct {
		facts []LinkFacts
		want  [4]told // of 10.1.0.0 there and back, of 10.2.0.0 there and back
	}{
		"none": {},
		"of all, by a name and a router id": {
			[]LinkFacts{{A: "wr", Z: "10.0.0.2", Delay: 3 * time.Millisecond, RiskGroups: []uint32{7}, AdminGroups: []uint32{63, 0}}},
			[4]told{{3000, []uint32{7}, 1<<63 + 1}, {3000, []uint32{7}, 1<<63 + 1}, {3000, []uint32{7}, 1<<63 + 1}, {3000, []uint32{7}, 1<<63 + 1}},
		},
		"of one": {
			[]LinkFacts{{A: "wr", Z: "10.0.0.2", Interface: "eth2", Delay: time.Microsecond, AdminGroups: []uint32{2}}},
			[4]told{{}, {}, {1, nil, 4}, {1, nil, 4}},
		},
		"of all, and then of one": {
			[]LinkFacts{{A: "10.0.0.2", Z: "wr", Delay: 5 * time.Millisecond}, {A: "wr", Z: "10.0.0.2", Interface: "eth1", RiskGroups: []uint32{1, 2}}},
			[4]told{{0, []uint32{1, 2}, 0}, {0, []uint32{1, 2}, 0}, {5000, nil, 0}, {5000, nil, 0}},
		},
		"of none that is there": {facts: []LinkFacts{{A: "wr", Z: "10.0.0.3", Delay: 1000}, {A: "wr", Z: "10.0.0.2", Interface: "eth9", Delay: 1000}}},
	} {
		got := assemble(s, inventory, ports, tc.facts)
		for i, l := range got.Links {
			if l.Delay != tc.want[i].delay || !slices.Equal(l.RiskGroups, tc.want[i].risks) || l.AdminGroups != tc.want[i].groups {
				t.Errorf("%s: link %s has %d µs, risk groups %v and admin groups %b, want %v", name, l.ID, l.Delay, l.RiskGroups, l.AdminGroups, tc.want[i])
			}
		}
	}
}

func TestFactsThatAreWrong(t *testing.T) {
	for name, f := range map[string]LinkFacts{
		"one router":      {A: "wr"},
		"to itself":       {A: "wr", Z: "wr"},
		"in the past":     {A: "wr", Z: "er", Delay: -time.Second},
		"nanoseconds":     {A: "wr", Z: "er", Delay: 1500},
		"to Mars":         {A: "wr", Z: "er", Delay: 2 * time.Minute},
		"too many groups": {A: "wr", Z: "er", RiskGroups: make([]uint32, 101)},
		"group 64":        {A: "wr", Z: "er", AdminGroups: []uint32{63, 64}},
	} {
		cfg := DefaultConfiguration()
		cfg.Links = []LinkFacts{{A: "wr", Z: "er", Delay: time.Millisecond}, f}
		if cfg.Validate() == nil {
			t.Errorf("%s: %+v is valid", name, f)
		}
	}
}

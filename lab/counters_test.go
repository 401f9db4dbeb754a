package lab

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/scenario"
)

// In the wire, packets from R1 leave by the interface that faces R2: its netem is what drops them.
func TestDropsBelongToTheInterfaceThatSends(t *testing.T) {
	s := &scenario.Scenario{Links: []scenario.Link{
		{A: scenario.Endpoint{Node: "H1", Interface: "eth0"}, B: scenario.Endpoint{Node: "R1", Interface: "ge-1"}},
		{A: scenario.Endpoint{Node: "R1", Interface: "ge-0"}, B: scenario.Endpoint{Node: "R2", Interface: "ge-0"}, Loss: 0.1},
	}}
	m := linkMetrics(s, map[string]map[string]interfaceCounters{
		"H1":  {"eth0": {OutPackets: 10, OutOctets: 1000, Dropped: 2}},
		"R1":  {"ge-1": {InPackets: 10, InOctets: 1000}, "ge-0": {OutPackets: 9, Dropped: 1}},
		wire:  {"w1a": {Dropped: 5}, "w1b": {Dropped: 3}},
		"R2":  {"ge-0": {InPackets: 6}},
		"out": {"x": {Dropped: 99}},
	})
	got := scenario.Metrics{}
	for name, value := range m {
		if value != 0 {
			got[name] = value
		}
	}
	want := scenario.Metrics{
		"H1:eth0/out_pkts": 10, "H1:eth0/out_octets": 1000, "H1:eth0/dropped_pkts": 2, "R1:ge-1/in_pkts": 10, "R1:ge-1/in_octets": 1000,
		"R1:ge-0/out_pkts": 9, "R1:ge-0/dropped_pkts": 1, "R1:ge-0/wire_dropped_pkts": 3, "R2:ge-0/wire_dropped_pkts": 5, "R2:ge-0/in_pkts": 6,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p := &PhaseResult{Phase: "p", Applications: []ApplicationResult{
		{Name: "a", UDP: &UDPSeries{Sent: 12, Received: 3, SocketDropped: 1}}, {Name: "b", UDP: &UDPSeries{Sent: 4, Received: 1}}, {Name: "ping", Ping: &PingSeries{}},
	}}
	sums := scenario.Metrics{}
	AddNetwork(sums, p, m)
	want = scenario.Metrics{"p/network/sent": 16, "p/network/received": 4, "p/network/lost": 12, "p/network/dropped_pkts": 2 + 1 + 3 + 5 + 1}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

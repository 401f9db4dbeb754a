package engine

import (
	"testing"

	"github.com/millrace/millrace/services/twin/discipline"
	"github.com/millrace/millrace/services/twin/traffic"
)

// A scenario of thousands of streams, or one that reroutes some of them again and again, adds tens of thousands of
// routes by class: each finds its queues, the last like the first.
func TestManyRoutesKeepTheirClasses(t *testing.T) {
	n := New(1)
	port, err := n.AddPort(PortConfig{Name: "a", Rate: 1e9, Queues: &discipline.Config{Queues: []discipline.Queue{{Name: "be", Weight: 50}, {Name: "ef", Weight: 50}}}})
	if err != nil {
		t.Fatal(err)
	}
	// Every DSCP of every third route is of queue ef; the others' of be.
	classes := [3]DSCPMap{}
	for dscp := range classes[2] {
		classes[2][dscp] = 1
	}
	for i := range 1<<16 + 2 {
		hop := At(port)
		hop.Classes = &classes[i%3]
		r := Route{Hops: []Hop{hop}}
		if i != 1<<15+3 && i != 1<<16+1 { // beyond 16 bits with a sign, and without; both of ef
			if _, err := n.addRoute(r); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := n.AddSource(SourceConfig{Name: "s", Size: 1000, Count: 10, Stop: Second, Forward: r, Pattern: traffic.Pattern{Gap: 0.01}}); err != nil {
			t.Fatal(err)
		}
	}
	n.Run(2 * Second)
	_, s := n.Port(port)
	if be, ef := s.Counters(0).OutPackets, s.Counters(1).OutPackets; be != 0 || ef != 20 {
		t.Errorf("%d packets of queue be and %d of ef, want 0 and 20", be, ef)
	}
}

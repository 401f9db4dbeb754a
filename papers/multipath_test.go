package papers

import (
	"testing"

	"github.com/millrace/millrace/services/twin/engine"
)

// After the metric change R0 has two next hops for every class and R2 two more for its half (paper 003, section IV-C):
// a half of all packets takes the long path and a quarter each short one.
func TestEqualCostPathsSplitTwice(t *testing.T) {
	b, _, err := fig10("tuned", 0, short1, long, short2, long).build(raised)
	if err != nil {
		t.Fatal(err)
	}
	b.Run(engine.Second / 2)
	offered := func(link string) int64 {
		c, _ := b.Port(b.ports[link])
		return c.Packets + c.Drops
	}
	for _, direction := range []string{">", "<"} {
		north, south := "R0R2", "R0R5"
		if direction == "<" {
			north, south = "R3R1", "R7R1" // the return path begins at R1
		}
		a, z := offered(north+direction), offered(south+direction)
		if direction == "<" {
			a += offered("R4R1" + direction)
		}
		if a < 1000 || a-z > 10 || z-a > 10 {
			t.Errorf("%s: %d packets by the short paths and %d by the long one; ten classes in turn differ by ten at most", direction, a, z)
		}
	}
}

// Per-flow load balancing by source address: of a node's packets none takes another path, so that nothing overtakes.
func TestNothingOvertakesWhenForwardedByFlow(t *testing.T) {
	for name, s := range map[string]scheme{"by flow": flowLevel, "by packet": standard} {
		t.Run(name, func(t *testing.T) {
			m := fig3(3, 1, 0)
			m.peak = 1e4 // nothing is lost: what is out of order has been overtaken
			b, flows, err := m.build(s)
			if err != nil {
				t.Fatal(err)
			}
			b.Run(engine.Second * 8 / 100) // windows have doubled three times at most
			late := int64(0)
			for _, f := range flows {
				late += b.TCP(f).OutOfOrder
			}
			if e := b.Ended(); e.QueueFull > 0 {
				t.Fatalf("%d drops: the run was to have none", e.QueueFull)
			}
			if (late > 0) != (name == "by packet") {
				t.Errorf("%d segments out of order", late)
			}
		})
	}
}

package engine

import (
	"testing"

	"github.com/millrace/millrace/services/twin/traffic"
)

// Two sources that send one after the other over two ways: each for itself takes both in turn; as one class the first
// always gets one way and the second the other.
func TestFlowsOfOneClassTakeTurnsTogether(t *testing.T) {
	for name, together := range map[string]bool{"each for itself": false, "one class": true} {
		t.Run(name, func(t *testing.T) {
			n := New(1)
			short, err := n.AddPort(PortConfig{Name: "short", Rate: 1e9})
			if err != nil {
				t.Fatal(err)
			}
			long, err := n.AddPort(PortConfig{Name: "long", Rate: 1e9, Delay: Second / 100})
			if err != nil {
				t.Fatal(err)
			}
			way := Route{Split: []Branch{{Route: Route{Hops: []Hop{At(short)}}}, {Route: Route{Hops: []Hop{At(long)}}}}}
			if together {
				if way, err = n.AddRoute(way); err != nil {
					t.Fatal(err)
				}
			}
			for i := range Time(2) {
				if _, err := n.AddSource(SourceConfig{Pattern: traffic.Pattern{Gap: 0.001}, Size: 100, Start: i * Second / 2000, Stop: Second, Forward: way}); err != nil {
					t.Fatal(err)
				}
			}
			n.Run(2 * Second)
			if err := n.Check(); err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				_, _, d := n.Source(i)
				if mixed := d.Most-d.Least > Second/200; mixed == together {
					t.Errorf("source %d: delays from %d to %d ps", i, d.Least, d.Most)
				}
			}
		})
	}
}

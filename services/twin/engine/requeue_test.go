package engine

import (
	"testing"

	"github.com/millrace/millrace/services/twin/discipline"
	"github.com/millrace/millrace/services/twin/traffic"
)

// Queues change under load, to others, to none and back: no packet is forgotten, none leaves before its turn.
func TestQueuesChangeUnderLoad(t *testing.T) {
	two := &discipline.Config{Queues: []discipline.Queue{{Name: "a", Weight: 50, Limit: 20_000}, {Name: "b", Weight: 50, Limit: 20_000}}}
	one := &discipline.Config{Queues: []discipline.Queue{{Name: "b", Weight: 100, Limit: 10_000}}}
	n := New(1)
	p, err := n.AddPort(PortConfig{Rate: 1e6, LimitBytes: 20_000, Queues: two})
	if err != nil {
		t.Fatal(err)
	}
	var sources []int
	for queue := range 2 {
		h := At(p)
		h.Queue = uint8(queue)
		s, err := n.AddSource(SourceConfig{Pattern: traffic.Pattern{Gap: 0.008}, Size: 1000, Stop: 10 * Second, Forward: Route{Hops: []Hop{h}}})
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	for i, c := range []*discipline.Config{one, nil, two, nil, one, two} {
		n.Run(Time(i+1) * Second)
		if err := n.Requeue(p, c, 0); err != nil {
			t.Fatal(err)
		}
		if err := n.Check(); err != nil {
			t.Fatalf("after change %d: %v", i+1, err)
		}
	}
	n.Run(20 * Second)
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	// The link is never idle while a packet waits: 10 s of 1 Mbit/s, and the queue at the end.
	var received int64
	for _, s := range sources {
		c, _, _ := n.Source(s)
		received += c.Received
	}
	if received < 1250 || received > 1295 {
		t.Errorf("%d packets arrived; the link carries 1250 in the ten seconds, and up to 40 wait after them", received)
	}
}

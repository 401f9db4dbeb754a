package portcounters

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

func TestParse(t *testing.T) {
	const queue = "/qos/interfaces/interface[interface-id=ge-1]/output/queues/queue[name=te-alpha]/state/"
	for path, want := range map[string]Counter{
		queue + "transmit-octets": {"ge-1", "te-alpha", SentOctets},
		queue + "transmit-pkts":   {"ge-1", "te-alpha", SentPackets},
		queue + "dropped-pkts":    {"ge-1", "te-alpha", Dropped},
		"/qos/interfaces/interface[interface-id=eth0.100]/output/queues/queue[name=best]/state/dropped-pkts": {"eth0.100", "best", Dropped},
		"/interfaces/interface[name=xe-0/0/1:0]/state/counters/out-octets":                                   {Port: "xe-0/0/1:0", Leaf: OutOctets},
		"/interfaces/interface[name=ge-1]/state/counters/out-discards":                                       {Port: "ge-1", Leaf: OutDiscards},

		queue + "max-queue-len":                                                                         {},
		queue + "dropped-pkts-more":                                                                     {},
		"/openconfig" + queue + "transmit-octets":                                                       {},
		"/interfaces/interface[name=ge-1]/state/counters/in-octets":                                     {},
		"/interfaces/interface[name=]/state/counters/out-octets":                                        {},
		"/qos/interfaces/interface[interface-id=ge-1]/input/queues/queue[name=te-a]/state/dropped-pkts": {},
	} {
		got, ok := Parse(path)
		if d := cmp.Diff(got, want); d != "" || ok != (want != Counter{}) {
			t.Errorf("%s, taken %v (-got +want):\n%s", path, ok, d)
		}
	}
}

func TestALengthIsNoCounter(t *testing.T) {
	const length = "/qos/interfaces/interface[interface-id=ge-1]/output/queues/queue[name=te-alpha]/state/avg-queue-len"
	if _, counter := Parse(length); counter {
		t.Errorf("%s is taken for a counter", length)
	}
	if port, queue, ok := ParseLength(length); port != "ge-1" || queue != "te-alpha" || !ok {
		t.Errorf("%s is of port %q, queue %q, %v", length, port, queue, ok)
	}
	for _, path := range []string{
		"/openconfig" + length, length + "s", "/qos/interfaces/interface[interface-id=]/output/queues/queue[name=a]/state/avg-queue-len",
		"/qos/interfaces/interface[interface-id=ge-1]/output/queues/queue[name=te-alpha]/state/transmit-octets",
	} {
		if port, queue, ok := ParseLength(path); port != "" || queue != "" || ok {
			t.Errorf("%s is a length of port %q, queue %q", path, port, queue)
		}
	}
}

func TestMean(t *testing.T) {
	for _, c := range []struct {
		values []uint64
		want   float64
	}{{nil, 0}, {[]uint64{7}, 7}, {[]uint64{0, 100, 50}, 50}} {
		var list []Reading
		for _, v := range c.values {
			list = append(list, Reading{Value: v})
		}
		if got := Mean(list); got != c.want {
			t.Errorf("the mean of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestDelayMs(t *testing.T) {
	for _, c := range []struct {
		octets, rate, ms float64
		known            bool
	}{{100_000, 1e6, 100, true}, {0, 1e6, 0, true}, {100_000, 0, 0, false}, {0.5, 0.5, 1000, true}} {
		if ms, known := DelayMs(c.octets, c.rate); ms != c.ms || known != c.known {
			t.Errorf("%v octets at %v a second: %v ms, known %t; want %v, %t", c.octets, c.rate, ms, known, c.ms, c.known)
		}
	}
}

func TestPolicyQueue(t *testing.T) {
	for _, c := range []struct {
		queue, name string
		owned       bool
	}{{"te-alpha", "alpha", true}, {"best-effort", "best-effort", false}, {"", "", false}} {
		if name, owned := (Counter{Queue: c.queue}).PolicyQueue(); name != c.name || owned != c.owned {
			t.Errorf("%q is %q, owned %v", c.queue, name, owned)
		}
	}
}

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []uint64
		growth uint64
		rate   float64 // of readings 2 s apart
	}{
		{name: "nothing"},
		{name: "one reading", values: []uint64{7}},
		{"it stands still", []uint64{7, 7}, 0, 0},
		{"two readings", []uint64{100, 140}, 40, 20},
		{"it rises", []uint64{100, 150, 300}, 200, 50},
		{"the router restarted", []uint64{1000, 1100, 40, 60}, 160, 160.0 / 6},
		{"it restarted at once", []uint64{1000, 0}, 0, 0},
		{"it restarted twice", []uint64{10, 3, 2}, 5, 1.25},
	} {
		s := &flowv1.TelemetrySeries{}
		for i, v := range c.values {
			s.Points = append(s.Points, &flowv1.TelemetryPoint{Time: timestamppb.New(time.Unix(int64(2*i), 0)), Value: v})
		}
		list := Readings(s)
		if got := Growth(list); got != c.growth {
			t.Errorf("%s: it grew by %d, want %d", c.name, got, c.growth)
		}
		if got := Rate(list); got != c.rate {
			t.Errorf("%s: %v a second, want %v", c.name, got, c.rate)
		}
	}
	at := time.Unix(0, 0)
	if got := Rate([]Reading{{at, 1}, {at, 5}}); got != 0 {
		t.Errorf("two readings at one time: %v a second", got)
	}
}

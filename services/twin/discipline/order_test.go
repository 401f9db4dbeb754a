package discipline

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/services/twin/traffic"
)

// order puts packets of 1000 bytes into the queues at time 0 and takes them all at the same moment: the queues in the
// order in which they were served. It ends early where the scheduler holds all packets back.
func order(c Config, packets ...int) []int {
	s := New(c, traffic.NewRandom(1))
	for queue, n := range packets {
		for range n {
			s.Enqueue(uint8(queue), Green, Item{Size: 1000, ID: int32(queue)})
		}
	}
	var out []int
	for {
		item, ok, _ := s.Dequeue(0)
		if !ok {
			return out
		}
		out = append(out, int(item.ID))
	}
}

// Paper 002, section III-A: in-profile queues by priority, then the others by priority.
func TestTheOrderOfService(t *testing.T) {
	for _, c := range []struct {
		name    string
		config  Config
		packets []int
		want    []int
	}{
		{"a queue that has used all of its guarantee waits for one that has not, whatever the priorities",
			Config{Rate: 1e9, Burst: 1000, Queues: []Queue{{Weight: 50}, {Weight: 50, Priority: 1}}}, []int{2, 1}, []int{0, 1, 0}},
		{"within the guarantee the first priority goes first",
			Config{Rate: 1e9, Burst: 3000, Queues: []Queue{{Weight: 50, Priority: 1}, {Weight: 50}}}, []int{2, 2}, []int{1, 1, 0, 0}},
		{"beyond it too",
			Config{Rate: 1e9, Burst: 1, Queues: []Queue{{Weight: 50, Priority: 1}, {Weight: 50}}}, []int{2, 2}, []int{1, 0, 1, 0}},
		{"equals take turns, the first of the configuration first",
			Config{Rate: 1e9, Burst: 9000, Queues: []Queue{{Weight: 50}, {Weight: 50}}}, []int{2, 2}, []int{0, 1, 0, 1}},
		{"a packet costs twice as much of a turn with half the weight",
			Config{Rate: 1e9, Burst: 9000, Queues: []Queue{{Weight: 20}, {Weight: 40}}}, []int{2, 4}, []int{0, 1, 1, 0, 1, 1}},
		{"without a ceiling nothing is held back, however much leaves at once",
			Config{Rate: 1e9, Burst: 1, Queues: []Queue{{Weight: 100, Max: shares.Limit{Percent: 100}}}}, []int{5}, []int{0, 0, 0, 0, 0}},
		{"a ceiling lets a burst through to the last byte, and no more",
			Config{Rate: 1e9, Burst: 2000, Queues: []Queue{{Weight: 100, Max: shares.Limit{Percent: 50}}}}, []int{3}, []int{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := order(c.config, c.packets...); !slices.Equal(got, c.want) {
				t.Errorf("queues were served in order %v, want %v", got, c.want)
			}
		})
	}
}

// A queue at its ceiling can be served again when its debt is paid, and the scheduler names that moment.
func TestACeilingSaysWhenToComeBack(t *testing.T) {
	s := New(Config{Rate: 2e9, Burst: 1000, Queues: []Queue{{Weight: 50, Max: shares.Limit{Percent: 50}}, {Weight: 50, Max: shares.Limit{Percent: 25}}}}, traffic.NewRandom(1))
	for range 2 {
		s.Enqueue(0, Green, Item{Size: 1500})
		s.Enqueue(1, Green, Item{Size: 1500, ID: 1})
	}
	if _, ok, _ := s.Dequeue(0); !ok {
		t.Fatal("the first packet of queue 0 does not leave")
	}
	if _, ok, _ := s.Dequeue(0); !ok {
		t.Fatal("the first packet of queue 1 does not leave")
	}
	// Each is 500 bytes in debt: 4 µs at 1 Gbit/s, 8 µs at half of it.
	_, ok, retry := s.Dequeue(0)
	if want := Time(4e-6*float64(Second)) + 1; ok || retry != want {
		t.Fatalf("retry at %d (served: %v), want %d: when the first of the two may send", retry, ok, want)
	}
	if item, ok, _ := s.Dequeue(retry); !ok || item.ID != 0 {
		t.Errorf("queue 0 cannot send when it was told to come back")
	}
	if _, ok, retry := New(Config{Rate: 1, Queues: []Queue{{}}}, nil).Dequeue(5); ok || retry != Never {
		t.Errorf("an empty port is to be asked again at %d, want never", retry)
	}
}

func TestCountersAndBacklog(t *testing.T) {
	s := New(Config{Rate: 1e9, Queues: []Queue{{Weight: 50, Limit: 2500}, {Weight: 50}}}, traffic.NewRandom(1))
	for range 3 {
		s.Enqueue(0, Green, Item{Size: 1000})
		s.Enqueue(1, Green, Item{Size: 700})
	}
	s.Dequeue(0)
	s.Dequeue(0)
	for queue, want := range []Counters{
		{InPackets: 2, InBytes: 2000, OutPackets: 1, OutBytes: 1000, TailDrops: 1},
		{InPackets: 3, InBytes: 2100, OutPackets: 1, OutBytes: 700},
	} {
		if got := s.Counters(queue); got != want {
			t.Errorf("queue %d: %+v, want %+v", queue, got, want)
		}
		if got := s.Backlog(queue); got != want.InBytes-want.OutBytes {
			t.Errorf("queue %d: %d bytes wait, want %d", queue, got, want.InBytes-want.OutBytes)
		}
	}
	if s.Empty() || s.Waiting() != 3 {
		t.Errorf("%d packets wait, want 3", s.Waiting())
	}
	drained := s.Drain()
	if len(drained[0]) != 1 || len(drained[1]) != 2 || !s.Empty() || s.Backlog(0)+s.Backlog(1) != 0 {
		t.Errorf("drained %v; %d packets and %d bytes are left", drained, s.Waiting(), s.Backlog(0)+s.Backlog(1))
	}
}

// A packet that cannot be dropped draws no random number, so that a queue below its profile changes nothing for others.
func TestWhereNothingCanBeDroppedNothingIsDrawn(t *testing.T) {
	random := traffic.NewRandom(7)
	s := New(Config{Rate: 1e9, Queues: []Queue{{Weight: 1, Limit: 10_000, Discipline: RED{Min: 0.5, Max: 1, Probability: 1}}}}, random)
	for range 3 {
		s.Enqueue(0, Green, Item{Size: 1000})
	}
	if got, want := random.Float(), traffic.NewRandom(7).Float(); got != want {
		t.Errorf("the next random number is %g, want %g", got, want)
	}
}

package discipline

import (
	"math"
	"testing"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/services/twin/traffic"
)

// A drop profile settles where it lets in what the port sends: offered r times the port's rate, it drops 1 - 1/r, and
// the fill is where the profile has that probability.
func TestADropProfileSettlesWhereItLetsInWhatThePortSends(t *testing.T) {
	for _, c := range []struct {
		name       string
		discipline Discipline
		colour     uint8
		offered    float64 // times the rate
		fill       float64
	}{
		{"paper 002, experiment 4: the fill is the probability", WRED{High: {Min: 0, Max: 1, Probability: 1}}, High, 1.25, 0.2},
		{"the same, offered twice the link rate", WRED{High: {Min: 0, Max: 1, Probability: 1}}, High, 2, 0.5},
		{"RED from a quarter to three quarters, a half at most", RED{Min: 0.25, Max: 0.75, Probability: 0.5}, Green, 1.25, 0.45},
		{"WRED by colour: low loss priority has room", WRED{Low: {Min: 0.6, Max: 1, Probability: 0.5}, High: {Min: 0, Max: 0.5, Probability: 1}}, Low, 1.25, 0.76},
		{"WRED by colour: high loss priority has less", WRED{Low: {Min: 0.6, Max: 1, Probability: 0.5}, High: {Min: 0, Max: 0.5, Probability: 1}}, High, 1.25, 0.1},
	} {
		t.Run(c.name, func(t *testing.T) {
			const rate, size, room, packets = 1e9, 1000, 2_000_000, 400_000
			s := New(Config{Rate: rate, Queues: []Queue{{Weight: 1, Limit: room, Discipline: c.discipline}}}, traffic.NewRandom(3))
			arrivals := traffic.NewRandom(4)
			gap, next, fill, counted := size*8/rate, 0.0, 0.0, 0
			for i := range packets {
				now := float64(i) * gap
				for ; next <= now; next += arrivals.Exponential(gap / c.offered) {
					s.Enqueue(0, c.colour, Item{Size: size})
				}
				s.Dequeue(Time(now * float64(Second)))
				if i > packets/2 {
					fill += float64(s.Backlog(0)) / room
					counted++
				}
			}
			if got := fill / float64(counted); math.Abs(got-c.fill) > 0.02 {
				t.Errorf("settled at a fill of %.3f, want %.3f", got, c.fill)
			}
			n := s.Counters(0)
			if lost := float64(n.EarlyDrops) / float64(n.EarlyDrops+n.InPackets); math.Abs(lost-(1-1/c.offered)) > 0.02 || n.TailDrops > 0 {
				t.Errorf("dropped %.3f early and %d for want of room, want %.3f and none", lost, n.TailDrops, 1-1/c.offered)
			}
		})
	}
}

// Paper 002, equations 1 and 2: a full buffer delays by its size over the rate that the queue is let.
func TestAFullQueueDelaysByItsRoomOverItsRate(t *testing.T) {
	for _, c := range []struct {
		name string
		max  uint64
		want float64 // seconds
	}{
		{"work-conserving", 0, 0.1},
		{"strict partition of a fifth, less the burst it has saved", 20, (1_250_000 - DefaultBurst) / 2.5e6},
	} {
		t.Run(c.name, func(t *testing.T) {
			const rate, size = 1e8, 1000
			s := New(Config{Rate: rate, Queues: []Queue{{Weight: 20, Max: shares.Limit{Percent: c.max}, Limit: 1_250_000}, {Weight: 80}}}, traffic.NewRandom(1))
			for range 1250 {
				s.Enqueue(0, Green, Item{Size: size})
			}
			now, at := Time(0), Time(0)
			for calls := 0; !s.Empty(); calls++ {
				if calls > 2*1250 {
					t.Fatal("a packet was not served at the time that Dequeue named")
				}
				item, ok, retry := s.Dequeue(now)
				if !ok {
					now = retry
					continue
				}
				at, now = now, now+Time(float64(item.Size)*8/rate*float64(Second))
			}
			if got := float64(at) / float64(Second); math.Abs(got/c.want-1) > 0.002 {
				t.Errorf("the last of a full queue left after %.4f s, want %.4f", got, c.want)
			}
		})
	}
}

package online

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/millrace/millrace/services/alpha/detect"
)

func piece(flow int, bytes uint64) detect.Sum {
	src := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(flow >> 8), byte(flow)}), 1)
	return detect.Sum{Exporter: wr, Start: noon, Bytes: bytes, Packets: 1, SamplingRate: 1, LastRecordEnd: noon,
		Flow: detect.Flow{Src: src, Dst: netip.MustParseAddrPort("10.2.0.1:2"), Protocol: 6}}
}

// TestBoundsHoldBeyondTheMemory compares with a map that has room for everything: what a flow sent lies within its
// bounds, they are no wider than what all sent by the number of counters, and whatever sent more than that is counted.
func TestBoundsHoldBeyondTheMemory(t *testing.T) {
	const room = 64
	for _, shape := range []struct {
		name string
		pick func(*rand.Rand) (flow int, bytes uint64)
	}{
		{"Zipf", func(r *rand.Rand) (int, uint64) { return int(3000 / (1 + r.Float64()*3000)), 1 + r.Uint64N(1500) }},
		{"all alike", func(r *rand.Rand) (int, uint64) { return r.IntN(3000), 1500 }},
		{"each flow once, and one elephant", func(r *rand.Rand) (int, uint64) {
			if r.IntN(50) == 0 {
				return 1 << 15, 100_000
			}
			return r.IntN(1 << 15), 1 + r.Uint64N(1500)
		}},
	} {
		t.Run(shape.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			table, truth := newTable(room), map[int]uint64{}
			var all uint64
			for i := range 20_000 {
				flow, bytes := shape.pick(rng)
				truth[flow], all = truth[flow]+bytes, all+bytes
				table.add(piece(flow, bytes))
				if i%997 == 0 {
					checkBounds(t, table, truth, all/room)
				}
			}
			checkBounds(t, table, truth, all/room)
			if len(truth) <= room {
				t.Error("there are no more flows than counters")
			}
		})
	}
}

func checkBounds(t *testing.T, table *table, truth map[int]uint64, most uint64) {
	t.Helper()
	for flow, sent := range truth {
		c, counted := table.get(keyOf(piece(flow, 0)))
		switch {
		case !counted && sent > table.least():
			t.Fatalf("flow %d sent %d and has no counter, although one without sent %d at most", flow, sent, table.least())
		case !counted && sent > most:
			t.Fatalf("flow %d sent %d and has no counter, although that is more than %d", flow, sent, most)
		case counted && (c.bytes > sent || c.upper() < sent || c.missed > most):
			t.Fatalf("flow %d sent %d; counted %d, at most %d of it missed, of %d allowed", flow, sent, c.bytes, c.missed, most)
		}
	}
}

func TestALargePieceIsNotLostToOverflow(t *testing.T) {
	table := newTable(1)
	table.add(piece(1, 1<<63))
	c, displaced := table.add(piece(2, 1<<63))
	if !displaced || c.upper() != ^uint64(0) || c.bytes != 1<<63 {
		t.Errorf("displaced %t, at least %d, at most %d", displaced, c.bytes, c.upper())
	}
}

func BenchmarkTake(b *testing.B) {
	for _, flows := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(flows, " flows"), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(5, 6))
			d := New(detect.DefaultRule(), DefaultLimits())
			records := make([]detect.Record, 8192)
			for i := range records {
				s := piece(rng.IntN(flows), 0)
				s.Flow.Src = netip.AddrPortFrom(s.Flow.Src.Addr(), uint16(rng.IntN(flows/1000)))
				records[i] = detect.Record{Exporter: wr, Flow: s.Flow, Start: noon.Add(-30e9), End: noon, Bytes: 1500, Packets: 1, SamplingRate: 1}
			}
			for i := 0; b.Loop(); i++ {
				d.Take(fmt.Sprint(i), records, noon)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(records)), "ns/record")
		})
	}
}

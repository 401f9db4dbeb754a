package detect

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPiecesOfARecord(t *testing.T) {
	rule := testRule() // minutes
	for _, c := range []struct {
		name         string
		from, lasted time.Duration // of t0
		bytes, rate  uint64
		since        time.Duration
		want         []uint64 // from the first interval on that has a piece
		first        time.Duration
	}{
		{"within one interval", 10 * time.Second, 20 * time.Second, 100, 1, 0, []uint64{100}, 0},
		{"without duration: the interval of its start", time.Minute, 0, 100, 1, 0, []uint64{100}, time.Minute},
		{"up to the end of an interval: nothing in the next", 0, time.Minute, 100, 1, 0, []uint64{100}, 0},
		{"sampling applied", 0, 2 * time.Minute, 100, 10, 0, []uint64{500, 500}, 0},
		{"of unknown rate: as exported", 0, 2 * time.Minute, 100, 0, 0, []uint64{50, 50}, 0},
		{"rounded so that the pieces sum to the record", 0, 3 * time.Minute, 100, 1, 0, []uint64{33, 33, 34}, 0},
		{"without what was before", 0, 4 * time.Minute, 100, 1, 2 * time.Minute, []uint64{25, 25}, 2 * time.Minute},
		{"without the interval that is under way then", 0, 4 * time.Minute, 100, 1, 90 * time.Second, []uint64{25, 25}, 2 * time.Minute},
		{"all of it before", 0, time.Minute, 100, 1, time.Second, nil, 0},
		{"more than 64 bits hold", 0, 2 * time.Minute, math.MaxUint64, 1000, 0, []uint64{math.MaxUint64 / 2, math.MaxUint64 - math.MaxUint64/2}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Record{Exporter: wr, Start: t0.Add(c.from), End: t0.Add(c.from + c.lasted), Bytes: c.bytes, Packets: c.bytes, SamplingRate: c.rate}
			var got []uint64
			at := t0.Add(c.first)
			rule.Pieces(r, t0.Add(c.since), func(s Sum) {
				got = append(got, s.Bytes)
				if !s.Start.Equal(at) || s.Packets != s.Bytes || s.Exporter != wr || s.SamplingRate != c.rate || !s.LastRecordEnd.Equal(r.End) {
					t.Errorf("piece %+v, want one of %s", s, at)
				}
				at = at.Add(rule.Interval)
			})
			if diff := cmp.Diff(got, c.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

// TestBoundsHoldTheTruth samples flows of known size, packet by packet: 95 of 100 lie within their bounds.
func TestBoundsHoldTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, rate := range []uint64{10, 100, 200} {
		const flows, packets = 1000, 20_000
		within := 0
		for range flows {
			counted := uint64(0)
			for range packets {
				if rng.Uint64N(rate) == 0 {
					counted++
				}
			}
			e := Evidence{Bytes: counted * 1500 * rate, Packets: counted * rate, SamplingRate: rate}
			if low, high := e.Bounds(); low <= packets*1500 && packets*1500 <= high {
				within++
			}
		}
		// Three standard deviations of 1000 draws are 2.1 points, and with 100 samples the normal distribution is off
		// by less than one more.
		if share := float64(within) / flows; share < 0.92 || share > 0.98 {
			t.Errorf("1:%d: %.1f %% of flows are within their bounds", rate, 100*share)
		}
	}
}

func TestBoundsOfWhatIsNotSampled(t *testing.T) {
	for _, rate := range []uint64{0, 1} {
		e := Evidence{Bytes: math.MaxUint64, Packets: 10, SamplingRate: rate}
		if low, high := e.Bounds(); low != e.Bytes || high != e.Bytes {
			t.Errorf("rate %d: %d to %d, want the bytes themselves", rate, low, high)
		}
	}
	if low, high := (Evidence{Bytes: math.MaxUint64, Packets: 100, SamplingRate: 100}).Bounds(); low != 0 || high != math.MaxUint64 {
		t.Errorf("of one sample: %d to %d, want 0 to what 64 bits hold", low, high)
	}
}

func TestJoinAgesNothing(t *testing.T) {
	rule := testRule()
	key := func(dst string) Key {
		k, _ := rule.KeyOf(Sum{Exporter: wr, Flow: Flow{Src: netip.MustParseAddrPort("10.1.0.5:1"), Dst: netip.MustParseAddrPort(dst)}})
		return k
	}
	old, fresh := key("10.2.0.1:1"), key("10.3.0.1:1")
	e := Evidence{Start: t0, Interval: rule.Interval, Bytes: 200, MinBytes: 100, LastRecordEnd: t0.Add(time.Second)}
	memory := []Pair{{Key: old, LastSeen: t0.Add(-999 * time.Hour)}}
	r := Join(rule, memory, map[Key][]Evidence{fresh: {e}})
	if len(r.Pairs) != 2 || len(r.Added) != 1 || r.Added[0].Key != fresh || !r.Added[0].LastSeen.Equal(e.LastRecordEnd) || len(r.AgedOut)+len(r.Refreshed) != 0 {
		t.Errorf("got %+v; want the new pair beside the old one", r)
	}
	again := Join(rule, r.Pairs, map[Key][]Evidence{fresh: {e}})
	if len(again.Added)+len(again.Refreshed) != 0 || len(again.Pairs) != 2 {
		t.Errorf("the same evidence again: %+v", again)
	}
	e.Bytes = 300
	if more := Join(rule, r.Pairs, map[Key][]Evidence{fresh: {e}}); len(more.Refreshed) != 1 || len(more.Refreshed[0].Evidence) != 1 {
		t.Errorf("more bytes of the same interval: %+v, want it in place of the former", more.Refreshed)
	}
}

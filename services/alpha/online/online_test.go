package online

import (
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/alpha/detect"
)

var (
	wr   = netip.MustParseAddr("192.0.2.1")
	er   = netip.MustParseAddr("2001:db8:ffff::2")
	noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

func testRule() detect.Rule {
	r := detect.DefaultRule()
	r.MinBytes, r.Interval = 1000, 10*time.Second
	return r
}

func testLimits() Limits { return Limits{Flows: 256, Horizon: 5 * time.Minute} }

// arrival is a batch with when it came.
type arrival struct {
	id      string
	records []detect.Record
	at      time.Time
}

// randomRecord is of one of a few flows, so that sums of many records cross the threshold.
func randomRecord(rng *rand.Rand, now time.Time) detect.Record {
	addrs := []string{"10.1.0.1", "10.1.0.2", "10.2.0.1", "2001:db8::1", "2001:db8:1::1"}
	end := func() netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr(addrs[rng.IntN(len(addrs))]), uint16(rng.IntN(2)))
	}
	r := detect.Record{
		Exporter: []netip.Addr{wr, er}[rng.IntN(2)], Flow: detect.Flow{Src: end(), Dst: end(), Protocol: uint8(6 + 11*rng.IntN(2)), InIf: uint32(rng.IntN(3))},
		End: now.Add(-time.Duration(rng.IntN(60_000)) * time.Millisecond), Bytes: uint64(rng.IntN(900)), Packets: uint64(1 + rng.IntN(20)),
		SamplingRate: uint64(rng.IntN(3)),
	}
	r.Start = r.End
	if rng.IntN(4) > 0 {
		r.Start = r.End.Add(-time.Duration(rng.IntN(45_000)) * time.Millisecond)
	}
	return r
}

// traffic are batches of records that come late and out of order, and some of them twice.
func traffic(rng *rand.Rand, batches int) []arrival {
	var out []arrival
	now := noon
	for i := range batches {
		a := arrival{id: fmt.Sprint("batch-", i), at: now}
		for range 1 + rng.IntN(20) {
			a.records = append(a.records, randomRecord(rng, now))
		}
		out = append(out, a)
		if rng.IntN(3) == 0 {
			again := out[rng.IntN(len(out))]
			again.at = now
			out = append(out, again)
		}
		now = now.Add(time.Duration(rng.IntN(3000)) * time.Millisecond)
	}
	return out
}

// nightly is the nightly rule over whole records, plainly: walk over every interval that a record touches, in numbers
// without end.
type nightly struct {
	rule detect.Rule
	sums map[place]detect.Sum
	seen map[string]bool
}

func (n *nightly) take(a arrival) {
	if n.seen[a.id] {
		return
	}
	n.seen[a.id] = true
	for _, r := range a.records {
		for start := r.Start.Truncate(n.rule.Interval); start.Before(r.End) || start.Equal(r.Start.Truncate(n.rule.Interval)); start = start.Add(n.rule.Interval) {
			end := start.Add(n.rule.Interval)
			piece := detect.Sum{Exporter: r.Exporter, Flow: r.Flow, Start: start, SamplingRate: r.SamplingRate, LastRecordEnd: r.End}
			piece.Bytes = sent(r, r.Bytes, end) - sent(r, r.Bytes, start)
			piece.Packets = sent(r, r.Packets, end) - sent(r, r.Packets, start)
			at := place{start.UnixMilli(), keyOf(piece)}
			sum, known := n.sums[at]
			if !known {
				n.sums[at] = piece
				continue
			}
			sum.Bytes, sum.Packets = sum.Bytes+piece.Bytes, sum.Packets+piece.Packets
			if sum.SamplingRate = max(sum.SamplingRate, piece.SamplingRate); min(n.sums[at].SamplingRate, piece.SamplingRate) == 0 {
				sum.SamplingRate = 0
			}
			if piece.LastRecordEnd.After(sum.LastRecordEnd) {
				sum.LastRecordEnd = piece.LastRecordEnd
			}
			n.sums[at] = sum
		}
	}
}

// sent is what of n, sampling applied, was sent before t; a record without duration is sent at its start.
func sent(r detect.Record, n uint64, t time.Time) uint64 {
	all := new(big.Int).Mul(new(big.Int).SetUint64(n), new(big.Int).SetUint64(max(r.SamplingRate, 1)))
	switch {
	case !t.After(r.Start):
		return 0
	case !t.Before(r.End):
		return all.Uint64()
	}
	all.Mul(all, big.NewInt(t.Sub(r.Start).Milliseconds()))
	return all.Div(all, big.NewInt(r.End.Sub(r.Start).Milliseconds())).Uint64()
}

// alpha are the flows that the nightly run finds, with what they sent.
func (n *nightly) alpha() map[string]uint64 {
	out := map[string]uint64{}
	for _, s := range n.sums {
		if key, ok := n.rule.Alpha(s); ok {
			out[name(key, s.Flow, s.Start)] = s.Bytes
		}
	}
	return out
}

func name(key detect.Key, f detect.Flow, start time.Time) string {
	return fmt.Sprintln(key.Exporter, key.Prefixes, f.Src, f.Dst, f.Protocol, start.UnixMilli())
}

// TestEveryAlphaFlowIsFoundByTheRecordThatDecides: after each batch, what was found is what a nightly run over the
// records so far would find, neither less nor more, and with the same bytes.
func TestEveryAlphaFlowIsFoundByTheRecordThatDecides(t *testing.T) {
	found := 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 7))
		d, oracle := New(testRule(), testLimits()), nightly{testRule(), map[place]detect.Sum{}, map[string]bool{}}
		got := map[string]uint64{}
		for i, a := range traffic(rng, 40) {
			for _, f := range d.Take(a.id, a.records, a.at) {
				if f.Missed != 0 {
					t.Fatalf("seed %d, batch %d: %d bytes missed, although there is a counter for each flow", seed, i, f.Missed)
				}
				if f.Alpha {
					got[name(f.Key, f.Evidence.Flow, f.Evidence.Start)] = f.Evidence.Bytes
				}
			}
			oracle.take(a)
			if diff := cmp.Diff(got, oracle.alpha()); diff != "" {
				t.Fatalf("seed %d, batch %d (-online +nightly):\n%s", seed, i, diff)
			}
		}
		found += len(got)
		if d.Counts().Repeated == 0 {
			t.Errorf("seed %d: no batch came twice", seed)
		}
	}
	if found < 150 {
		t.Errorf("only %d alpha flows; the test proves little", found)
	}
}

func TestPairsAreThoseOfTheNightlyRun(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 8))
		d, oracle := New(testRule(), testLimits()), nightly{testRule(), map[place]detect.Sum{}, map[string]bool{}}
		pairs := map[detect.Key]Pair{}
		batches := traffic(rng, 40)
		for _, a := range batches {
			for _, f := range d.Take(a.id, a.records, a.at) {
				if p, _ := Next(testRule(), pairs[f.Key], f, a.at); !p.Began.IsZero() {
					pairs[f.Key] = p
				}
			}
			oracle.take(a)
		}
		sums := slices.Collect(maps.Values(oracle.sums))
		want := detect.Run(testRule(), nil, detect.Input{Sums: sums}, noon)
		var got []detect.Pair
		for _, p := range pairs {
			got = append(got, p.Pair)
		}
		slices.SortFunc(got, func(a, b detect.Pair) int { return a.Key.Compare(b.Key) })
		// The interface of equal pieces is any of theirs.
		for _, list := range [][]detect.Pair{got, want.Pairs} {
			for _, p := range list {
				for i := range p.Evidence {
					p.Evidence[i].Flow.InIf = 0
				}
			}
		}
		if !slices.EqualFunc(got, want.Pairs, detect.Pair.Equal) {
			t.Fatalf("seed %d (-online +nightly):\n%s", seed, cmp.Diff(fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want.Pairs)))
		}
	}
}

func TestWhatIsOutsideOfTheHorizonIsLeftToTheNightlyRun(t *testing.T) {
	flow := detect.Flow{Src: netip.MustParseAddrPort("10.1.0.1:1"), Dst: netip.MustParseAddrPort("10.2.0.1:2"), Protocol: 6}
	for _, c := range []struct {
		name       string
		start, end time.Duration // of noon
		bytes      uint64
		found      []uint64
		outside    uint64
	}{
		{"just now", -5 * time.Second, -time.Second, 1001, []uint64{1001}, 0},
		{"exactly the threshold", -5 * time.Second, -time.Second, 1000, nil, 0},
		{"long ago", -6 * time.Minute, -5*time.Minute - 10*time.Second, 1e6, nil, 1},
		{"from long ago until now: only the intervals within are summed", -10 * time.Minute, 0, 60 * 1001, slices.Repeat([]uint64{1001}, 30), 0},
		{"by a clock that is a little ahead", 30 * time.Second, 35 * time.Second, 1001, []uint64{1001}, 0},
		{"by a clock that is far ahead", 2 * time.Minute, 3 * time.Minute, 1e6, nil, 1},
		{"an end before the start", 0, -time.Second, 1e6, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := New(testRule(), testLimits())
			var got []uint64
			for _, f := range d.Take("", []detect.Record{{Exporter: wr, Flow: flow, Start: noon.Add(c.start), End: noon.Add(c.end), Bytes: c.bytes, Packets: 1, SamplingRate: 1}}, noon) {
				got = append(got, f.Evidence.Bytes)
			}
			if diff := cmp.Diff(got, c.found); diff != "" || d.Counts().Outside != c.outside {
				t.Errorf("outside %d, want %d; found (-got +want):\n%s", d.Counts().Outside, c.outside, diff)
			}
		})
	}
}

// TestMemoryIsBounded: whatever arrives, intervals that are past are forgotten, and an interval has its counters only.
func TestMemoryIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	d := New(testRule(), testLimits())
	now := noon
	for i := range 100 {
		var records []detect.Record
		for range 500 {
			r := randomRecord(rng, now)
			r.Flow.Src = netip.AddrPortFrom(r.Flow.Src.Addr(), uint16(rng.IntN(1<<16)))
			r.Start = r.End.Add(-time.Duration(rng.IntN(900)) * time.Second)
			records = append(records, r)
		}
		d.Take(fmt.Sprint(i), records, now)
		now = now.Add(7 * time.Second)
		if n, most := len(d.intervals), testLimits().intervals(testRule()); n > most {
			t.Fatalf("%d intervals, want at most %d", n, most)
		}
		for _, table := range d.intervals {
			if len(table.counters) > 256 || len(table.at) != len(table.counters) {
				t.Fatalf("%d counters in %d places, want at most 256", len(table.counters), len(table.at))
			}
		}
	}
	if d.Counts().Displaced == 0 || d.Missed() == 0 {
		t.Error("no counter was taken from a flow; the test proves nothing")
	}
}

func TestOldBatchesAreForgotten(t *testing.T) {
	var s seen
	for i := range seenBatches + 10 {
		if !s.first(fmt.Sprint(i)) {
			t.Fatalf("batch %d is said to be a repetition", i)
		}
	}
	if len(s.ids) != seenBatches || len(s.ring) != seenBatches {
		t.Errorf("%d ids in %d places, want %d", len(s.ids), len(s.ring), seenBatches)
	}
	if s.first(fmt.Sprint(seenBatches + 9)) {
		t.Error("the newest batch is not remembered")
	}
}

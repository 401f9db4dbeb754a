package flowstore

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/millrace/millrace/internal/flowrecord"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

type oracleKey struct {
	slot               int64
	exporter, src, dst netip.Addr
	srcPort, dstPort   uint16
	protocol           uint8
}

type oracleSum struct {
	bytes, packets uint64
	records        uint32
	rateMin, rate  uint64
	last           time.Time
}

// slowIntervals is the rule said plainly: walk over every record and every
// interval it touches.
func slowIntervals(records []flowrecord.Record, from, to time.Time, length time.Duration, minBytes uint64) []*flowv1.IntervalsResponse {
	sums := map[oracleKey]*oracleSum{}
	for _, r := range records {
		for slot := r.Start.UnixMilli() / length.Milliseconds(); ; slot++ {
			begin := time.UnixMilli(slot * length.Milliseconds())
			end := begin.Add(length)
			if begin.After(r.Start) && !begin.Before(r.End) {
				break
			}
			if begin.Before(from) || !begin.Before(to) {
				continue
			}
			key := oracleKey{slot, r.Exporter, r.Src, r.Dst, r.SrcPort, r.DstPort, r.Protocol}
			s := sums[key]
			if s == nil {
				s = &oracleSum{rateMin: r.SamplingRate}
				sums[key] = s
			}
			s.bytes += share(r, r.Bytes, begin, end)
			s.packets += share(r, r.Packets, begin, end)
			s.records++
			s.rateMin, s.rate = min(s.rateMin, r.SamplingRate), max(s.rate, r.SamplingRate)
			if r.End.After(s.last) {
				s.last = r.End
			}
		}
	}
	return answer(sums, length, minBytes)
}

// share is what of n, sampling applied, was sent in [begin, end).
func share(r flowrecord.Record, n uint64, begin, end time.Time) uint64 {
	if r.Start.Equal(r.End) {
		return n * max(r.SamplingRate, 1)
	}
	return sentUntil(r, n, end) - sentUntil(r, n, begin)
}

func sentUntil(r flowrecord.Record, n uint64, t time.Time) uint64 {
	if t.Before(r.Start) {
		t = r.Start
	}
	if t.After(r.End) {
		t = r.End
	}
	all := new(big.Int).Mul(new(big.Int).SetUint64(n), new(big.Int).SetUint64(max(r.SamplingRate, 1)))
	all.Mul(all, big.NewInt(t.Sub(r.Start).Milliseconds()))
	return all.Div(all, big.NewInt(r.End.Sub(r.Start).Milliseconds())).Uint64()
}

func answer(sums map[oracleKey]*oracleSum, length time.Duration, minBytes uint64) []*flowv1.IntervalsResponse {
	var all []*flowv1.IntervalsResponse
	for k, s := range sums {
		if s.bytes <= minBytes {
			continue
		}
		if s.rateMin == 0 {
			s.rate = 0
		}
		all = append(all, interval{
			exporter: k.exporter, src: k.src, dst: k.dst, srcPort: k.srcPort, dstPort: k.dstPort, protocol: k.protocol, inIf: 3,
			start: time.UnixMilli(k.slot * length.Milliseconds()), bytes: s.bytes, packets: s.packets, records: uint64(s.records),
			samplingRate: s.rate, lastEnd: s.last,
		}.toProto())
	}
	slices.SortFunc(all, order)
	return all
}

func order(a, b *flowv1.IntervalsResponse) int {
	return cmp.Or(
		a.GetIntervalStart().AsTime().Compare(b.GetIntervalStart().AsTime()),
		cmp.Compare(a.Exporter, b.Exporter), cmp.Compare(a.SrcAddr, b.SrcAddr), cmp.Compare(a.DstAddr, b.DstAddr),
		cmp.Compare(a.SrcPort, b.SrcPort),
	)
}

func TestIntervalsAgreeWithTheSlowOracle(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	rng := rand.New(rand.NewPCG(1, 2))
	records := randomRecords(rng, 3000)
	for _, b := range batches(records, 250) {
		r.deliver(b)
	}
	for _, c := range []struct {
		name     string
		from, to time.Time
		length   time.Duration
		minBytes uint64
	}{
		{"every minute, no threshold", day0.Add(-time.Hour), day0.Add(time.Hour), time.Minute, 0},
		{"minutes over midnight, above 100 GB", day0, day0.Add(20 * time.Minute), time.Minute, 100e9},
		{"ten seconds, a window that cuts records", day0.Add(3 * time.Minute), day0.Add(5 * time.Minute), 10 * time.Second, 1e6},
		{"an unaligned window", day0.Add(90*time.Second + 1), day0.Add(8*time.Minute + 7*time.Second), time.Minute, 1e6},
		{"seven seconds, which do not divide a minute", day0, day0.Add(time.Minute), 7 * time.Second, 1},
		{"a whole day as one interval", day0.Add(-24 * time.Hour), day0.Add(24 * time.Hour), 24 * time.Hour, 0},
		{"nothing there", day0.Add(24 * time.Hour), day0.Add(25 * time.Hour), time.Minute, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := r.intervals(question(c.from, c.to, c.length, c.minBytes))
			slices.SortFunc(got, order)
			want := slowIntervals(records, c.from, c.to, c.length, c.minBytes)
			if !slices.EqualFunc(got, want, func(a, b *flowv1.IntervalsResponse) bool { return proto.Equal(a, b) }) {
				t.Errorf("-got +want\n%.3000s", gocmp.Diff(got, want, protocmp.Transform()))
			}
		})
	}
}

// TestManyLargeFlows: in few buckets periods of five minutes are looked at, in more flows that may exceed the
// threshold, and of very many a statement names none.
func TestManyLargeFlows(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	rng := rand.New(rand.NewPCG(21, 22))
	for i, n := range []int{fewBuckets / 2, 3 * fewBuckets, 3 * maxBuckets} {
		at := day0.Add(time.Duration(i+1) * time.Hour)
		large := randomRecords(rng, n)
		for i := range large {
			x := rng.Uint32()
			large[i].Src, large[i].Dst = netip.AddrFrom4([4]byte{10, byte(x), byte(x >> 8), byte(x >> 16)}), netip.AddrFrom4([4]byte{11, 0, byte(i >> 8), byte(i)})
			large[i].Start, large[i].End, large[i].Bytes, large[i].SamplingRate = at, at, 2e9, 1
		}
		small := large[0] // of the same bucket, and no flow above the threshold
		small.SrcPort, small.Bytes = 1, 1e9
		r.deliver(columnBatch(fmt.Sprint(n), append(large, small)...))
		window := question(at, at.Add(time.Minute), time.Minute, 1e9)
		if got := r.intervals(window); len(got) != n {
			t.Errorf("%d flows above the threshold, want %d", len(got), n)
		}
		window.MinBytes = 4e9
		if got := r.intervals(window); len(got) != 0 {
			t.Errorf("%d flows above a threshold that none exceeds", len(got))
		}
	}
}

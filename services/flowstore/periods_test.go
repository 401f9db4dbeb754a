package flowstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/store"
)

const minute = int64(60_000)

// began is a period so many minutes after the epoch, whose last record ended so many after it began.
func began(at, lasted int64, sent float64) period {
	return period{start: at * minute, last: (at + lasted) * minute, sent: sent}
}

func TestPeriodsInWhichAFlowMayExceedTheThreshold(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []period
		want []int // of all
	}{
		{name: "none"},
		{"one is enough by itself", []period{began(0, 5, 1000), began(5, 5, 10), began(20, 5, 10)}, []int{0, 1}},
		{"it ends before the next one begins, in an interval of its own", []period{began(0, 4, 1000), began(5, 5, 10)}, []int{0}},
		{"two that touch the same minute", []period{began(0, 6, 600), began(5, 5, 500)}, []int{0, 1}},
		{"two that do not", []period{began(0, 5, 600), began(10, 5, 500)}, nil},
		{"a long record joins two that are apart", []period{began(0, 12, 600), began(5, 5, 10), began(10, 5, 500)}, []int{0, 1, 2}},
		{"the threshold itself", []period{began(0, 5, 1000)}, []int{0}},
		{"less than the threshold", []period{began(0, 5, 999)}, nil},
		{"the error of floating point is on the safe side", []period{began(0, 5, 999.9999)}, []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []period
			for _, i := range c.want {
				want = append(want, c.all[i])
			}
			if diff := cmp.Diff(mayExceedIn(c.all, minute, 1000), want, cmp.AllowUnexported(period{})); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

// The same as looking at each interval by itself.
func TestPeriodsAgreeWithALookAtEachInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var all []period
		for at := int64(0); at < 60; at += 5 {
			if rng.IntN(3) > 0 {
				all = append(all, period{start: at * minute, last: at*minute + rng.Int64N(20*minute), sent: float64(rng.IntN(1000))})
			}
		}
		length := []time.Duration{7 * time.Second, time.Minute, 13 * time.Minute, time.Hour}[rng.IntN(4)]
		ms, least := length.Milliseconds(), uint64(rng.IntN(2500))
		sums := map[int64]float64{}
		for _, p := range all {
			for s, last := p.slots(ms); s <= last; s++ {
				sums[s] += p.sent
			}
		}
		want := slices.DeleteFunc(slices.Clone(all), func(p period) bool {
			for s, last := p.slots(ms); s <= last; s++ {
				if sums[s] >= float64(least) {
					return false
				}
			}
			return true
		})
		if got := mayExceedIn(all, ms, least); !slices.Equal(got, want) {
			t.Fatalf("intervals of %s, threshold %d: %v, want %v of %v", length, least, got, want, all)
		}
	}
}

// Rows of before migration 0008 have their bucket by their addresses, beside rows of after it.
func TestFlowsThatWereStoredBeforeBuckets(t *testing.T) {
	cfg := testConfiguration(t.TempDir())
	db, err := store.Open(t.Context(), cfg.Store)
	if err != nil {
		t.Fatal(err)
	}
	// Of 20,000 flows every 2,000th is large, in both halves.
	const half = `INSERT INTO flows (exporter, start, end, src, dst, src_port, dst_port, protocol, bytes, packets, sampling_rate)
		SELECT '::ffff:192.0.2.1', toDateTime64(1795000020, 3, 'UTC') + intDiv(number, 200) AS at, at, toIPv6(concat('2001:db8::', hex(number))), '2001:db8:1::1',
			4000, 443, 6, if(number %% 2000 = 7, 2000000000, 1000), 1, 1 FROM numbers(%d, 10000)`
	for _, do := range []func() error{
		func() error { return Migrate(t.Context(), db, 7) },
		func() error { return db.Exec(t.Context(), fmt.Sprintf(half, 0)) },
		func() error { return migrate(t.Context(), db) },
		func() error { return db.Exec(t.Context(), fmt.Sprintf(half, 10000)) },
		db.Close,
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, cfg)
	at := time.Unix(1795000020, 0)
	for _, least := range []uint64{1e9, 1} { // few buckets, and nearly all of 20,000
		want := 10
		if least == 1 {
			want = 20_000
		}
		if got := r.intervals(question(at, at.Add(4*time.Minute), time.Minute, least)); len(got) != want {
			t.Errorf("%d flows above %d bytes, want %d", len(got), least, want)
		}
	}
}

// The longest statement is one that the engine takes (max_query_size, 256 KiB).
func TestAsManyPeriodsAsAStatementNames(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	some, periods := make([]uint16, fewBuckets), make([]period, maxPeriods)
	for i := range some {
		some[i] = uint16(65535 - i)
	}
	for i := range periods {
		periods[i] = period{bucket: some[i%len(some)], start: (4_000_000_200 + int64(i)*300) * 1000}
	}
	text := fmt.Sprintf(intervalsSQL, touchesWindow+inBuckets(some)+inPeriods(periods))
	if len(text) > 250<<10 {
		t.Errorf("the statement has %d octets", len(text))
	}
	rows, err := (*r.comp.db.Load()).Query(t.Context(), text, int64(60_000), int64(0), int64(1), uint64(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
}

// Where there are too many, all records of the buckets are looked at.
func TestMorePeriodsThanAStatementNames(t *testing.T) {
	cfg := testConfiguration(t.TempDir())
	r := newRig(t, cfg)
	db := *r.comp.db.Load()
	if err := db.Exec(t.Context(), `INSERT INTO flows (exporter, start, end, src, dst, bytes, packets, sampling_rate)
		SELECT '::ffff:192.0.2.1', toDateTime64(1795000020, 3, 'UTC') + number * 300 AS at, at, '::ffff:10.0.0.1', '::ffff:10.0.0.2', 2000000000, 1, 1 FROM numbers(9000)`); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1795000020, 0)
	if got := r.intervals(question(at, at.Add(9000*5*time.Minute), time.Minute, 1e9)); len(got) != 9000 {
		t.Errorf("%d flows, want 9000", len(got))
	}
}

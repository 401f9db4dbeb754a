package flowstore

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/store"
)

const minute = int64(60_000)

// began is a period of a bucket, so many minutes after the epoch, whose last record ended so many after it began.
func began(bucket uint16, at, lasted int64, sent float64) period {
	return period{bucket: bucket, start: at * minute, last: (at + lasted) * minute, sent: sent}
}

func TestPeriodsInWhichAFlowMayExceedTheThreshold(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []period
		want []int // of all
	}{
		{name: "none"},
		{"one is enough by itself", []period{began(1, 0, 5, 1000), began(1, 5, 5, 10), began(1, 20, 5, 10)}, []int{0, 1}},
		{"it ends before the next one begins, in an interval of its own", []period{began(1, 0, 4, 1000), began(1, 5, 5, 10)}, []int{0}},
		{"two that touch the same minute", []period{began(1, 0, 6, 600), began(1, 5, 5, 500)}, []int{0, 1}},
		{"two that do not", []period{began(1, 0, 5, 600), began(1, 10, 5, 500)}, nil},
		{"a long record joins two that are apart", []period{began(1, 0, 12, 600), began(1, 5, 5, 10), began(1, 10, 5, 500)}, []int{0, 1, 2}},
		{"of two buckets", []period{began(1, 0, 6, 600), began(2, 5, 5, 500), began(2, 60, 5, 1000)}, []int{2}},
		{"the threshold itself", []period{began(1, 0, 5, 1000)}, []int{0}},
		{"less than the threshold", []period{began(1, 0, 5, 999)}, nil},
		{"the error of floating point is on the safe side", []period{began(1, 0, 5, 999.9999)}, []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []period
			for _, i := range c.want {
				want = append(want, c.all[i])
			}
			if diff := cmp.Diff(mayExceedIn(c.all, time.Minute, 1000), want, cmp.AllowUnexported(period{})); diff != "" {
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
		for bucket := range uint16(3) {
			for at := int64(0); at < 60; at += 5 {
				if rng.IntN(3) > 0 {
					all = append(all, period{bucket, at * minute, at*minute + rng.Int64N(20*minute), float64(rng.IntN(1000))})
				}
			}
		}
		length := []time.Duration{7 * time.Second, time.Minute, 13 * time.Minute, time.Hour}[rng.IntN(4)]
		ms, least := length.Milliseconds(), uint64(rng.IntN(2500))
		sums := map[[2]int64]float64{}
		for _, p := range all {
			for s, last := p.slots(ms); s <= last; s++ {
				sums[[2]int64{int64(p.bucket), s}] += p.sent
			}
		}
		want := slices.DeleteFunc(slices.Clone(all), func(p period) bool {
			for s, last := p.slots(ms); s <= last; s++ {
				if sums[[2]int64{int64(p.bucket), s}] >= float64(least) {
					return false
				}
			}
			return true
		})
		if got := mayExceedIn(all, length, least); !slices.Equal(got, want) {
			t.Fatalf("intervals of %s, threshold %d: %v, want %v of %v", length, least, got, want, all)
		}
	}
}

// Rows of before migration 0008 have their bucket by their addresses.
func TestFlowsThatWereStoredBeforeBuckets(t *testing.T) {
	cfg := testConfiguration(t.TempDir())
	db, err := store.Open(t.Context(), cfg.Store)
	if err != nil {
		t.Fatal(err)
	}
	for _, do := range []func() error{
		func() error { return Migrate(t.Context(), db, 7) },
		func() error {
			return db.Exec(t.Context(), `INSERT INTO flows (exporter, start, end, src, dst, src_port, dst_port, protocol, bytes, packets, sampling_rate)
				SELECT '::ffff:192.0.2.1', toDateTime64(1795000000 + number * 20, 3, 'UTC'), toDateTime64(1795000010 + number * 20, 3, 'UTC'),
					'::ffff:10.0.0.1', '::ffff:10.0.1.1', 4000, 443, 6, 400000000, 400000, 1 FROM numbers(6)`)
		},
		db.Close,
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, cfg)
	from := time.Unix(1795000000, 0).Truncate(time.Minute)
	if got := r.intervals(question(from, from.Add(3*time.Minute), time.Minute, 1e9)); len(got) != 1 || got[0].GetBytes() != 1_200_000_000 {
		t.Errorf("got %v, want the one minute in which three records lie", got)
	}
}

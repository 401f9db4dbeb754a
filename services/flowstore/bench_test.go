package flowstore

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/store"
)

// BenchmarkStore inserts a day of mostly distinct flows and asks what the
// nightly run asks: all minutes of it, above 1 GB.
func BenchmarkStore(b *testing.B) {
	const n, perBatch = 2_000_000, 100_000
	db, err := store.Open(b.Context(), store.DefaultConfiguration(b.TempDir()))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := migrate(b.Context(), db); err != nil {
		b.Fatal(err)
	}
	w := &flowWriter{db, newMetrics(nil)}
	rng := rand.New(rand.NewPCG(1, 2))
	var inserting time.Duration
	for i := range n / perBatch {
		records := make([]flowrecord.Record, perBatch)
		for j := range records {
			records[j] = benchRecord(rng)
		}
		began := time.Now()
		if err := w.insert(b.Context(), []flowBatch{recordBatch(fmt.Sprint(i), records...)}); err != nil {
			b.Fatal(err)
		}
		inserting += time.Since(began)
	}
	day := day0.Truncate(24 * time.Hour)
	q := intervals{time.Minute, day.Unix() / 60, day.Add(24*time.Hour).Unix() / 60, 1e9}
	found := 0
	for b.Loop() {
		found = 0
		if err := q.run(b.Context(), db, func(interval) error { found++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n/inserting.Seconds(), "inserted-rows/s")
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "summed-rows/s")
	b.ReportMetric(float64(found), "intervals")
}

func benchRecord(rng *rand.Rand) flowrecord.Record {
	addr := func() netip.Addr {
		var raw [4]byte
		binary.BigEndian.PutUint32(raw[:], 0x0a000000+rng.Uint32N(1<<18))
		return netip.AddrFrom4(raw)
	}
	start := day0.Truncate(24 * time.Hour).Add(time.Duration(rng.IntN(86_300_000)) * time.Millisecond)
	r := flowrecord.Record{
		Exporter: netip.AddrFrom4([4]byte{192, 0, 2, 1}), Start: start, End: start.Add(time.Duration(rng.IntN(90_000)) * time.Millisecond),
		Src: addr(), Dst: addr(), SrcPort: uint16(rng.Uint32()), DstPort: 443, Protocol: 6, Bytes: rng.Uint64N(1e6), Packets: 100, SamplingRate: 1,
	}
	if rng.IntN(100_000) == 0 {
		r.Bytes = 3e9
	}
	return r
}

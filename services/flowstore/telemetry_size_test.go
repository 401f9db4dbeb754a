package flowstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/store"
)

// BenchmarkReading tells how much disk a reading of a counter takes: twenty routers with 48 ports and 12 counters each,
// every ten seconds of half an hour, in inserts of all routers as they come. Half of the counters rise by random
// amounts of traffic; discards, errors and multicast packets seldom do.
func BenchmarkReading(b *testing.B) {
	db, err := store.Open(b.Context(), testConfiguration(b.TempDir()).Store)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	if err := migrate(b.Context(), db); err != nil {
		b.Fatal(err)
	}
	w := &telemetryWriter{db, newMetrics(nil)}
	for b.Loop() {
		if err := db.Exec(b.Context(), "TRUNCATE TABLE telemetry"); err != nil {
			b.Fatal(err)
		}
		for _, some := range readings() {
			if err := w.insert(b.Context(), [][]counter{some}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(octetsPerRow(b, db), "octets/reading")
		if err := db.Exec(b.Context(), "OPTIMIZE TABLE telemetry FINAL"); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(octetsPerRow(b, db), "octets/reading-merged")
	}
}

// readings are those of each ten seconds.
func readings() (out [][]counter) {
	dice := rand.New(rand.NewPCG(1, 2))
	now := map[string]uint64{}
	for n := range 180 {
		var some []counter
		at := day0.Add(-time.Hour + time.Duration(n)*10*time.Second)
		for router := range 20 {
			for port := range 48 {
				for i, name := range []string{"octets", "pkts", "unicast-pkts", "discards", "errors", "multicast-pkts"} {
					for _, way := range []string{"in", "out"} {
						path := fmt.Sprintf("/interfaces/interface[name=et-0/0/%d]/state/counters/%s-%s", port, way, name)
						c := counter{device: fmt.Sprintf("r%03d", router), path: path, at: at.Add(time.Duration(dice.IntN(1000)) * time.Millisecond)}
						switch {
						case i < 3:
							now[c.device+path] += dice.Uint64N(10_000_000_000 / 8 * 10 / []uint64{1, 800, 800}[i])
						case dice.IntN(100) == 0:
							now[c.device+path] += dice.Uint64N(10)
						}
						c.value = now[c.device+path]
						some = append(some, c)
					}
				}
			}
		}
		out = append(out, some)
	}
	return out
}

func octetsPerRow(b *testing.B, db store.DB) float64 {
	b.Helper()
	rows, err := db.Query(context.WithoutCancel(b.Context()), "SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE table = 'telemetry' AND active")
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	var octets, n uint64
	for rows.Next() {
		if err := rows.Scan(&octets, &n); err != nil {
			b.Fatal(err)
		}
	}
	return float64(octets) / float64(n)
}

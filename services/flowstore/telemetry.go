package flowstore

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/store"
)

// telemetryLinger is how long counters wait at most for as many messages as came together the last time. Messages are
// small, one sample of one router, and nobody misses counters that are a fifth of a second late.
const telemetryLinger = 200 * time.Millisecond

// counter is one reading of one counter of one device.
type counter struct {
	device, path string
	value        uint64
	at           time.Time
}

// telemetryWriter inserts counters; the table's key makes repeats harmless.
type telemetryWriter struct {
	db      store.DB
	metrics *metrics
}

func (w *telemetryWriter) insert(ctx context.Context, batches [][]counter) error {
	began := time.Now()
	var devices, paths []string
	var values []uint64
	var times []time.Time
	for _, b := range batches {
		for _, c := range b {
			devices, paths, values, times = append(devices, c.device), append(paths, c.path), append(values, c.value), append(times, c.at)
		}
	}
	err := w.db.Insert(ctx, store.Batch{Table: "telemetry", Columns: []store.Column{
		{Name: "device", Type: "LowCardinality(String)", Values: devices},
		{Name: "path", Type: "LowCardinality(String)", Values: paths},
		{Name: "time", Type: milliseconds, Values: times},
		{Name: "value", Type: "UInt64", Values: values},
	}})
	if err != nil {
		w.metrics.insertErrors.WithLabelValues("telemetry").Inc()
		return fmt.Errorf("insert telemetry: %w", err)
	}
	if err := w.insertUsage(ctx, batches); err != nil {
		w.metrics.insertErrors.WithLabelValues("circuit_counters").Inc()
		return fmt.Errorf("insert what circuits sent: %w", err)
	}
	w.metrics.rows.WithLabelValues("telemetry").Add(float64(len(values)))
	w.metrics.insertSeconds.WithLabelValues("telemetry").Observe(time.Since(began).Seconds())
	return nil
}

package flowstore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// flowBatch is one bus message's records, and what it says of hours.
type flowBatch struct {
	id      uuid.UUID
	records []flowrecord.Record
	hours   []*flowv1.HourQuality
}

// batchKey turns a batch_id into the fixed-size key that rows carry.
func batchKey(id string) uuid.UUID {
	sum := sha256.Sum256([]byte(id))
	return uuid.UUID(sum[:16])
}

// flowWriter inserts batches so that each counts once, however often it is
// delivered and whenever the process dies.
//
// An insert into one partition is atomic. Partitions are days, so a batch is
// inserted and looked up day by day: one that was interrupted between two days
// is completed, not doubled.
type flowWriter struct {
	db      store.DB
	metrics *metrics
}

func (w *flowWriter) insert(ctx context.Context, batches []flowBatch) error {
	began := time.Now()
	if err := w.insertHours(ctx, batches); err != nil {
		return err
	}
	for day, parts := range byDay(batches) {
		if err := w.insertDay(ctx, day, parts); err != nil {
			w.metrics.insertErrors.WithLabelValues("flows").Inc()
			return err
		}
	}
	w.metrics.insertSeconds.WithLabelValues("flows").Observe(time.Since(began).Seconds())
	return nil
}

// byDay splits batches by the partition of each record. A batch that is in the
// group twice is taken once.
func byDay(batches []flowBatch) map[time.Time][]flowBatch {
	days := map[time.Time][]flowBatch{}
	seen := map[uuid.UUID]bool{}
	for _, b := range batches {
		if seen[b.id] {
			continue
		}
		seen[b.id] = true
		part := map[time.Time][]flowrecord.Record{}
		for _, r := range b.records {
			day := r.Start.UTC().Truncate(24 * time.Hour)
			part[day] = append(part[day], r)
		}
		for day, records := range part {
			days[day] = append(days[day], flowBatch{id: b.id, records: records})
		}
	}
	return days
}

func (w *flowWriter) insertDay(ctx context.Context, day time.Time, batches []flowBatch) error {
	stored, err := w.stored(ctx, day, batches)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(batches, func(b flowBatch) bool { return stored[b.id] })
	w.metrics.duplicates.Add(float64(len(stored)))
	for len(fresh) > 0 {
		n, rows := atomicPrefix(fresh)
		if err := w.db.Insert(ctx, flowColumns(fresh[:n])); err != nil {
			return fmt.Errorf("insert flows: %w", err)
		}
		w.metrics.rows.WithLabelValues("flows").Add(float64(rows))
		fresh = fresh[n:]
	}
	return nil
}

// atomicPrefix is how many of the batches fit into one part, at least one.
func atomicPrefix(batches []flowBatch) (n, rows int) {
	for _, b := range batches {
		if n > 0 && rows+len(b.records) > store.MaxAtomicRows {
			break
		}
		n, rows = n+1, rows+len(b.records)
	}
	return n, rows
}

// stored tells which of the batches the day's partition already holds.
func (w *flowWriter) stored(ctx context.Context, day time.Time, batches []flowBatch) (map[uuid.UUID]bool, error) {
	ids := make([]string, len(batches))
	for i, b := range batches {
		ids[i] = "toUUID('" + b.id.String() + "')"
	}
	sql := "SELECT DISTINCT batch FROM flows WHERE start >= ? AND start < ? AND batch IN (" + strings.Join(ids, ",") + ")"
	rows, err := w.db.Lookup(ctx, sql, day, day.Add(24*time.Hour))
	if err != nil {
		return nil, fmt.Errorf("look for batches already stored: %w", err)
	}
	defer rows.Close()
	found := map[uuid.UUID]bool{}
	for rows.Next() {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("look for batches already stored: %w", err)
		}
		found[id] = true
	}
	return found, rows.Err()
}

// milliseconds is the type of every time in the store: NetFlow's own resolution.
const milliseconds = "DateTime64(3, 'UTC')"

// flowColumns turns records into the columns of table flows.
func flowColumns(batches []flowBatch) store.Batch {
	n := 0
	for _, b := range batches {
		n += len(b.records)
	}
	ids := make([]uuid.UUID, 0, n)
	records := make([]*flowrecord.Record, 0, n)
	for _, b := range batches {
		for i := range b.records {
			ids, records = append(ids, b.id), append(records, &b.records[i])
		}
	}
	return store.Batch{Table: "flows", Columns: []store.Column{
		{Name: "batch", Type: "UUID", Values: ids},
		column(records, "exporter", "IPv6", func(r *flowrecord.Record) netip.Addr { return r.Exporter }),
		column(records, "domain", "UInt32", func(r *flowrecord.Record) uint32 { return r.Domain }),
		column(records, "start", milliseconds, func(r *flowrecord.Record) time.Time { return r.Start }),
		column(records, "end", milliseconds, func(r *flowrecord.Record) time.Time { return r.End }),
		column(records, "src", "IPv6", func(r *flowrecord.Record) netip.Addr { return r.Src }),
		column(records, "dst", "IPv6", func(r *flowrecord.Record) netip.Addr { return r.Dst }),
		column(records, "src_port", "UInt16", func(r *flowrecord.Record) uint16 { return r.SrcPort }),
		column(records, "dst_port", "UInt16", func(r *flowrecord.Record) uint16 { return r.DstPort }),
		column(records, "protocol", "UInt8", func(r *flowrecord.Record) uint8 { return r.Protocol }),
		column(records, "tos", "UInt8", func(r *flowrecord.Record) uint8 { return r.TOS }),
		column(records, "tcp_flags", "UInt16", func(r *flowrecord.Record) uint16 { return r.TCPFlags }),
		column(records, "in_if", "UInt32", func(r *flowrecord.Record) uint32 { return r.InIf }),
		column(records, "out_if", "UInt32", func(r *flowrecord.Record) uint32 { return r.OutIf }),
		column(records, "bytes", "UInt64", func(r *flowrecord.Record) uint64 { return r.Bytes }),
		column(records, "packets", "UInt64", func(r *flowrecord.Record) uint64 { return r.Packets }),
		column(records, "sampling_rate", "UInt64", func(r *flowrecord.Record) uint64 { return r.SamplingRate }),
		column(records, "source", "UInt8", func(r *flowrecord.Record) uint8 { return uint8(r.Source) }),
	}}
}

func column[T any](records []*flowrecord.Record, name, kind string, of func(*flowrecord.Record) T) store.Column {
	values := make([]T, len(records))
	for i, r := range records {
		values[i] = of(r)
	}
	return store.Column{Name: name, Type: kind, Values: values}
}

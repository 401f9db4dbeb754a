package flowstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// flowBatch is one bus message's records by day, and what it says of hours.
type flowBatch struct {
	id    uuid.UUID
	days  map[day]*flowrecord.Block
	hours []*flowv1.HourQuality
	tags  []*flowv1.FlowTag
}

// rows is how many records and tags the batch has.
func (b *flowBatch) rows() (n int) {
	for _, block := range b.days {
		n += block.Rows()
	}
	return n + len(b.tags)
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
	if err := w.insertTags(ctx, batches); err != nil {
		return err
	}
	for at, parts := range byDay(batches) {
		if err := w.insertDay(ctx, at, parts); err != nil {
			w.metrics.insertErrors.WithLabelValues("flows").Inc()
			return err
		}
	}
	w.metrics.insertSeconds.WithLabelValues("flows").Observe(time.Since(began).Seconds())
	return nil
}

// dayPart is what one batch has of a day.
type dayPart struct {
	id    uuid.UUID
	block *flowrecord.Block
}

// byDay sorts the parts of batches. A batch that is in the group twice is taken once.
func byDay(batches []flowBatch) map[day][]dayPart {
	days := map[day][]dayPart{}
	seen := map[uuid.UUID]bool{}
	for _, b := range batches {
		if seen[b.id] {
			continue
		}
		seen[b.id] = true
		for at, block := range b.days {
			days[at] = append(days[at], dayPart{b.id, block})
		}
	}
	return days
}

func (w *flowWriter) insertDay(ctx context.Context, at day, parts []dayPart) error {
	stored, err := w.stored(ctx, at, parts)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(parts, func(p dayPart) bool { return stored[p.id] })
	w.metrics.duplicates.Add(float64(len(stored)))
	for len(fresh) > 0 {
		n, rows := atomicPrefix(fresh)
		if err := w.insertBlock(ctx, flowColumns(fresh[:n])); err != nil {
			return fmt.Errorf("insert flows: %w", err)
		}
		w.metrics.rows.WithLabelValues("flows").Add(float64(rows))
		fresh = fresh[n:]
	}
	return nil
}

// again is how long a block waits at least and at most before it is inserted again.
const again, againAtMost = 100 * time.Millisecond, 5 * time.Second

// insertBlock inserts a block as it is until it is stored or refused. On a cluster the server that took it may be gone
// before it says so; the others know its rows by their hash, as long as they come in the same block. In another one,
// with the messages that came meanwhile, they would be stored twice.
func (w *flowWriter) insertBlock(ctx context.Context, b store.Batch) error {
	err := w.db.Insert(ctx, b)
	for wait, uncertain := again, errors.Is(err, store.ErrUncertain); uncertain && err != nil; wait = min(2*wait, againAtMost) {
		w.metrics.insertErrors.WithLabelValues("flows").Inc()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
		err = w.db.Insert(ctx, b)
	}
	return err
}

// atomicPrefix is how many of the parts fit into one insert, at least one.
func atomicPrefix(parts []dayPart) (n, rows int) {
	for _, p := range parts {
		if n > 0 && rows+p.block.Rows() > store.MaxAtomicRows {
			break
		}
		n, rows = n+1, rows+p.block.Rows()
	}
	return n, rows
}

// stored tells which of the batches the day's partition already holds.
func (w *flowWriter) stored(ctx context.Context, at day, parts []dayPart) (map[uuid.UUID]bool, error) {
	ids := make([]string, len(parts))
	for i, p := range parts {
		ids[i] = "toUUID('" + p.id.String() + "')"
	}
	sql := "SELECT DISTINCT batch FROM flows WHERE start >= ? AND start < ? AND batch IN (" + strings.Join(ids, ",") + ")"
	rows, err := w.db.Lookup(ctx, sql, at.begins(), (at + 1).begins())
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
const milliseconds = flowrecord.Milliseconds

// flowColumns are the columns of table flows: those of the blocks as they came, each behind the other, and the batch.
func flowColumns(parts []dayPart) store.Batch {
	out := store.Batch{Table: "flows"}
	var ids store.Encoded
	for _, p := range parts {
		ids = append(ids, repeated(p.id, p.block.Rows()))
		out.Rows += p.block.Rows()
	}
	out.Columns = []store.Column{{Name: "batch", Type: "UUID", Values: ids}}
	for i, c := range flowrecord.Columns {
		var values store.Encoded
		for _, p := range parts {
			values = append(values, p.block.Values(i))
		}
		out.Columns = append(out.Columns, store.Column{Name: c.Name, Type: c.Type, Values: values})
	}
	return out
}

// repeated is a column of equal ids, as the format Native has them: two numbers of 64 bits, little-endian.
func repeated(id uuid.UUID, rows int) []byte {
	out := make([]byte, len(id)*rows)
	slices.Reverse(id[:8])
	slices.Reverse(id[8:])
	for n := copy(out, id[:]); n < len(out); n *= 2 {
		copy(out[n:], out[:n])
	}
	return out
}

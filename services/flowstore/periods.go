package flowstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/store"
)

// periodLength is what the table is ordered by first: the start of a record in steps of five minutes.
const periodLength = 5 * time.Minute

// period is what the records of a bucket that began within five minutes have sent, and when the last of them ended.
// Times are in milliseconds since the epoch.
type period struct {
	bucket      uint16
	start, last int64
	sent        float64
}

// slots are the first and the last of the fixed intervals that such a record may touch.
func (p period) slots(ms int64) (first, last int64) {
	return p.start / ms, max(p.last, p.start+periodLength.Milliseconds()-1) / ms
}

const periodsSQL = `
WITH
    ? AS ms, ? AS first_slot, ? AS end_slot,
    fromUnixTimestamp64Milli(toInt64(first_slot * ms), 'UTC') AS window_start,
    fromUnixTimestamp64Milli(toInt64(end_slot * ms), 'UTC') AS window_end
SELECT bucket, 1000 * toInt64(toUInt32(toStartOfFiveMinutes(start))) AS began, max(toUnixTimestamp64Milli(end)), sum(toFloat64(bytes) * greatest(sampling_rate, 1))
FROM flows
WHERE %s
GROUP BY bucket, began
ORDER BY bucket, began`

// periods are those with records of a flow that may exceed the threshold, in some buckets; false where they are too
// many to be named.
func (q intervals) periods(ctx context.Context, db store.DB, some []uint16) (out []period, few bool, err error) {
	rows, err := db.Query(ctx, fmt.Sprintf(periodsSQL, touchesWindow+inBuckets(some)), q.length.Milliseconds(), q.first, q.last)
	if err != nil {
		return nil, false, fmt.Errorf("sum flows over five minutes: %w", err)
	}
	defer rows.Close()
	var bucket []period // one at a time: a year has a hundred thousand periods of each
	take := func() bool {
		out = append(out, mayExceedIn(bucket, q.length.Milliseconds(), q.minBytes)...)
		bucket = bucket[:0]
		return len(out) <= maxPeriods
	}
	for rows.Next() {
		var p period
		if err := rows.Scan(&p.bucket, &p.start, &p.last, &p.sent); err != nil {
			return nil, false, fmt.Errorf("sum flows over five minutes: %w", err)
		}
		if len(bucket) > 0 && bucket[0].bucket != p.bucket && !take() {
			return nil, false, nil
		}
		bucket = append(bucket, p)
	}
	return out, take(), rows.Err()
}

// slotRange is a range of intervals, the last one included.
type slotRange struct{ first, last int64 }

// mayExceedIn are the periods of a bucket, oldest first, with records of a flow that may exceed a threshold in some
// interval: in one of the intervals that they may touch, all periods that may touch it exceed it together.
func mayExceedIn(all []period, ms int64, minBytes uint64) (out []period) {
	above := rangesAbove(all, ms, float64(minBytes))
	for _, p := range all {
		first, last := p.slots(ms)
		// The first range that does not end before the period begins.
		i, _ := slices.BinarySearchFunc(above, first, func(r slotRange, at int64) int { return cmp.Compare(r.last, at) })
		if i < len(above) && above[i].first <= last {
			out = append(out, p)
		}
	}
	return out
}

// rangesAbove are the intervals in which the periods that may touch them have sent the threshold together, with room
// for the error of floating point.
func rangesAbove(all []period, ms int64, minBytes float64) (out []slotRange) {
	type edge struct {
		at   int64
		sent float64
	}
	var edges []edge
	total := 0.0
	for _, p := range all {
		first, last := p.slots(ms)
		edges = append(edges, edge{first, p.sent}, edge{last + 1, -p.sent})
		total += p.sent
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	running := 0.0
	for i, e := range edges {
		running += e.sent
		if i+1 == len(edges) || edges[i+1].at == e.at || running+1e-9*total < minBytes*(1-1e-6) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].last+1 == e.at {
			out[n-1].last = edges[i+1].at - 1
		} else {
			out = append(out, slotRange{e.at, edges[i+1].at - 1})
		}
	}
	return out
}

// inPeriods is the condition on records of some periods.
func inPeriods(some []period) string {
	tuples := make([]string, len(some))
	for i, p := range some {
		tuples[i] = fmt.Sprintf("(%d,%d)", p.start/1000, p.bucket)
	}
	return " AND (toStartOfFiveMinutes(start), bucket) IN (" + strings.Join(tuples, ",") + ")"
}

package flowstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/store"
)

// bucketsSQL finds the buckets of source and destination (migration 0008) in which a flow may exceed the threshold. A
// sum of each bucket fits into a processor's cache. Rows are not filtered by time: the indices leave out granules
// outside the window, and what else is in the others is summed too, which can only add buckets.
//
// ClickHouse before 26.8 computes the bucket of a row that was stored before there was one from nothing if it has read
// the addresses for another condition and dropped them (ClickHouse issue 111757): a statement with bucket in its
// condition has no condition on addresses unless it selects them, too.
const bucketsSQL = `
WITH
    ? AS ms, ? AS first_slot, ? AS end_slot, ? AS min_bytes,
    fromUnixTimestamp64Milli(toInt64(first_slot * ms), 'UTC') AS window_start,
    fromUnixTimestamp64Milli(toInt64(end_slot * ms), 'UTC') AS window_end
SELECT bucket FROM flows
WHERE indexHint(start < window_end AND end >= window_start AND ` + beforeItsEnd + `)
GROUP BY bucket
HAVING sum(toFloat64(bytes) * greatest(sampling_rate, 1)) * 1.000001 >= min_bytes`

const (
	// fewBuckets hold at most one record in 64: what they sent is summed over five minutes each.
	fewBuckets = 1024
	// maxPeriods is how many of these a statement names; where there are more, all records of the buckets are split.
	maxPeriods = 8192
	// maxBuckets is how many a statement names; where there are more, naming them would leave out little.
	maxBuckets = 8192
)

// buckets are those that may hold a flow above the threshold. A record that is stored meanwhile, and makes one more, is
// seen by the next question.
func (q intervals) buckets(ctx context.Context, db store.DB) ([]uint16, error) {
	rows, err := db.Query(ctx, bucketsSQL, q.length.Milliseconds(), q.first, q.last, q.minBytes)
	if err != nil {
		return nil, fmt.Errorf("sum flows over buckets: %w", err)
	}
	defer rows.Close()
	var out []uint16
	for rows.Next() {
		var b uint16
		if err := rows.Scan(&b); err != nil {
			return nil, fmt.Errorf("sum flows over buckets: %w", err)
		}
		out = append(out, b)
	}
	return out, rows.Err()
}

// flowsSQL finds the flows whose records sum to the threshold at all over the window, by a hash and in floating point,
// with room for its error. A collision of hashes lets a flow too many in, never one out.
const flowsSQL = ` AND flow IN
    (
        SELECT flow FROM flows
        WHERE %s
        GROUP BY flow
        HAVING sum(toFloat64(bytes) * greatest(sampling_rate, 1)) * 1.000001 >= min_bytes
    )`

// mayExceed is the condition on records whose flow may exceed the threshold, and whether there are any: in few buckets
// those of the periods in which a flow may, in more those of the flows in them that may.
func (q intervals) mayExceed(ctx context.Context, db store.DB, some []uint16) (condition string, found bool, err error) {
	if len(some) <= maxBuckets {
		condition = inBuckets(some)
	}
	if len(some) > fewBuckets {
		return condition + fmt.Sprintf(flowsSQL, touchesWindow+condition), true, nil
	}
	periods, few, err := q.periods(ctx, db, some)
	if few {
		condition += inPeriods(periods)
	}
	return condition, !few || len(periods) > 0, err
}

func inBuckets(some []uint16) string {
	texts := make([]string, len(some))
	for i, b := range some {
		texts[i] = strconv.Itoa(int(b))
	}
	return " AND bucket IN (" + strings.Join(texts, ",") + ")"
}

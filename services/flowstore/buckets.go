package flowstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/store"
)

// bucketSQL is one of 65,536 buckets of source and destination: two multiplications instead of a hash of the whole
// flow, and a sum of each bucket fits into a processor's cache. The factors are odd and have no pattern.
const bucketSQL = "toUInt16(bitShiftRight(toUInt64(toUInt128(src)) * 11400714819323198485 + toUInt64(toUInt128(dst)) * 14029467366897019727, 48))"

// bucketsSQL finds the buckets in which a flow may exceed the threshold, as intervals.sql then does with flows.
const bucketsSQL = `
WITH
    ? AS ms, ? AS first_slot, ? AS end_slot, ? AS min_bytes,
    fromUnixTimestamp64Milli(toInt64(first_slot * ms), 'UTC') AS window_start,
    fromUnixTimestamp64Milli(toInt64(end_slot * ms), 'UTC') AS window_end
SELECT ` + bucketSQL + ` AS bucket FROM flows
WHERE start < window_end AND end >= window_start
GROUP BY bucket
HAVING sum(toFloat64(bytes) * greatest(sampling_rate, 1)) * 1.000001 >= min_bytes`

// maxBuckets is how many a statement names; where there are more, naming them would leave out little.
const maxBuckets = 8192

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

// inBuckets is the condition on them; empty where there are too many.
func inBuckets(some []uint16) string {
	if len(some) > maxBuckets {
		return ""
	}
	texts := make([]string, len(some))
	for i, b := range some {
		texts[i] = strconv.Itoa(int(b))
	}
	return "AND " + bucketSQL + " IN (" + strings.Join(texts, ",") + ")"
}

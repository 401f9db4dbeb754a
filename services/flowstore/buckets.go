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

const (
	// fewBuckets hold at most one record in 64: all of them are split.
	fewBuckets = 1024
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
        WHERE start < window_end AND end >= window_start %s
        GROUP BY flow
        HAVING sum(toFloat64(bytes) * greatest(sampling_rate, 1)) * 1.000001 >= min_bytes
    )`

// mayExceed is the condition on records whose flow may exceed the threshold: those of some buckets and, where these
// are not few, of the flows in them that may.
func mayExceed(some []uint16) string {
	condition := ""
	if len(some) <= maxBuckets {
		condition = inBuckets(some)
	}
	if len(some) <= fewBuckets {
		return condition
	}
	return condition + fmt.Sprintf(flowsSQL, condition)
}

func inBuckets(some []uint16) string {
	texts := make([]string, len(some))
	for i, b := range some {
		texts[i] = strconv.Itoa(int(b))
	}
	return "AND " + bucketSQL + " IN (" + strings.Join(texts, ",") + ")"
}

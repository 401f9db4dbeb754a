package flowstore

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

const seriesSQL = `
SELECT device, path, max(time) AS last, argMax(value, time) AS v
FROM telemetry
WHERE time >= ? AND time < ? AND startsWith(path, ?) AND (device = ? OR ? = '')
GROUP BY device, path, intDiv(toUnixTimestamp64Milli(time), ?) AS step
ORDER BY device, path, step`

// maxPoints is about how many points a series has; where the time range holds
// more, the last of each step stands for it, which loses nothing of a counter.
const maxPoints = 2000

// counterSeries reads counters of one device (empty: of all) below a path.
func counterSeries(ctx context.Context, db store.DB, device, prefix string, from, to time.Time) ([]*flowv1.TelemetrySeries, error) {
	step := max(1, to.Sub(from).Milliseconds()/maxPoints)
	rows, err := db.Query(ctx, seriesSQL, from, to, prefix, device, device, step)
	if err != nil {
		return nil, fmt.Errorf("read telemetry: %w", err)
	}
	defer rows.Close()
	var all []*flowv1.TelemetrySeries
	for rows.Next() {
		var name, path string
		var at time.Time
		var value uint64
		if err := rows.Scan(&name, &path, &at, &value); err != nil {
			return nil, fmt.Errorf("read telemetry: %w", err)
		}
		if n := len(all); n == 0 || all[n-1].Device != name || all[n-1].Path != path {
			all = append(all, &flowv1.TelemetrySeries{Device: name, Path: path})
		}
		s := all[len(all)-1]
		s.Points = append(s.Points, &flowv1.TelemetryPoint{Time: timestamppb.New(at), Value: value})
	}
	return all, rows.Err()
}

package flowstore

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

const seriesOf = `
FROM telemetry
WHERE time >= ? AND time < ? AND startsWith(path, ?) AND (device = ? OR ? = '')`

const seriesSQL = `
SELECT device, path, max(time) AS last, argMax(value, time) AS v` + seriesOf + `
GROUP BY device, path, intDiv(toUnixTimestamp64Milli(time), ?) AS step
ORDER BY device, path, step`

// maxPoints is about how many points a series has; where the time range holds more, the last of each step stands for
// it. That loses nothing of a counter; of the length of a queue it is a sample.
const maxPoints = 2000

const (
	// maxAnswer is about how many points an answer has in all, which take 150 MB until it is sent. Of more series than
	// that allows each has fewer points.
	maxAnswer = 1_000_000
	// maxSeries leaves each ten.
	maxSeries = maxAnswer / 10
)

// stepOf is for how many milliseconds a point stands, in an answer of so many series over a time.
func stepOf(series uint64, over time.Duration) (int64, error) {
	if series > maxSeries {
		return 0, connect.NewError(connect.CodeResourceExhausted,
			fmt.Errorf("%d series, and an answer has at most %d: ask for one device or VPN, for a longer path, or for a shorter time", series, maxSeries))
	}
	points := min(maxPoints, maxAnswer/max(int64(series), 1))
	return max(1, (over.Milliseconds()+points-1)/points), nil
}

// counterSeries reads counters of one device (empty: of all) below a path.
func counterSeries(ctx context.Context, db store.DB, device, prefix string, from, to time.Time) ([]*flowv1.TelemetrySeries, error) {
	series, err := store.Count(ctx, db, "(SELECT DISTINCT device, path"+seriesOf+")", from, to, prefix, device, device)
	if err != nil {
		return nil, fmt.Errorf("count telemetry: %w", err)
	}
	step, err := stepOf(series, to.Sub(from))
	if err != nil {
		return nil, err
	}
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

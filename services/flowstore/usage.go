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

// insertUsage keeps the counters of circuits by the minute, and for longer than other counters.
func (w *telemetryWriter) insertUsage(ctx context.Context, batches [][]counter) error {
	var circuits, devices, names []string
	var minutes, times []time.Time
	var values []uint64
	for _, b := range batches {
		for _, c := range b {
			if circuit, name, ok := circuitCounter(c.path); ok {
				circuits, devices, names = append(circuits, circuit), append(devices, c.device), append(names, name)
				minutes, times, values = append(minutes, c.at.Truncate(time.Minute)), append(times, c.at), append(values, c.value)
			}
		}
	}
	if len(values) == 0 {
		return nil
	}
	return w.db.Insert(ctx, store.Batch{Table: "circuit_counters", Columns: []store.Column{
		{Name: "circuit", Type: "String", Values: circuits},
		{Name: "device", Type: "LowCardinality(String)", Values: devices},
		{Name: "counter", Type: "LowCardinality(String)", Values: names},
		{Name: "minute", Type: "DateTime('UTC')", Values: minutes},
		{Name: "time", Type: milliseconds, Values: times},
		{Name: "value", Type: "UInt64", Values: values},
	}})
}

// A counter that is lower than the minute before began again at 0, as after a restart of the router; so did the first.
// The reading before the window is what the first one within it is compared with, however old it is.
const usageSQL = `
SELECT intDiv(toUnixTimestamp(at) - ?, ?) AS step, counter, sum(toUInt64(value - if(value >= before, before, toUInt64(0))))
FROM (
	SELECT counter, at, value, lagInFrame(value, 1, 0) OVER (PARTITION BY device, counter ORDER BY at
		ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS before
	FROM (
		SELECT device, counter, minute AS at, value FROM circuit_counters FINAL WHERE circuit = ? AND minute >= ? AND minute < ?
		UNION ALL
		SELECT device, counter, max(minute) AS at, argMax(value, minute) AS value FROM circuit_counters FINAL
		WHERE circuit = ? AND minute < ? GROUP BY device, counter))
WHERE at >= ? GROUP BY step, counter ORDER BY step, counter`

// maxUsagePoints is about how many points the usage of a circuit has: a step is whole minutes.
const maxUsagePoints = 1500

// maxUsageCircuits are requested at once.
const maxUsageCircuits = 1000

// CircuitUsage implements FlowStoreService.
func (a *api) CircuitUsage(ctx context.Context, r *connect.Request[flowv1.CircuitUsageRequest]) (*connect.Response[flowv1.CircuitUsageResponse], error) {
	db, err := a.everything()
	if err != nil {
		return nil, err
	}
	from, to, err := window(r.Msg.GetFrom(), r.Msg.GetTo())
	if err != nil {
		return nil, err
	}
	if n := len(r.Msg.GetCircuits()); n == 0 || n > maxUsageCircuits {
		return nil, invalid("%d circuits; 1 to %d may be asked for at once", n, maxUsageCircuits)
	}
	from, to = from.Truncate(time.Minute), to.Add(time.Minute-time.Nanosecond).Truncate(time.Minute)
	out := &flowv1.CircuitUsageResponse{StepSeconds: usageStep(from, to, r.Msg.GetTotals())}
	for _, id := range r.Msg.GetCircuits() {
		usage, err := circuitUsage(ctx, db, id, from, to, out.GetStepSeconds())
		if err != nil {
			return nil, err
		}
		out.Circuits = append(out.Circuits, usage)
	}
	return connect.NewResponse(out), nil
}

// usageStep is the length of a step in seconds, in whole minutes; totals are one step.
func usageStep(from, to time.Time, totals bool) int64 {
	length := int64(to.Sub(from) / time.Second)
	if totals {
		return length
	}
	return max(1, (length/60+maxUsagePoints-1)/maxUsagePoints) * 60
}

func circuitUsage(ctx context.Context, db store.DB, id string, from, to time.Time, step int64) (*flowv1.CircuitUsage, error) {
	rows, err := db.Query(ctx, usageSQL, from.Unix(), step, id, from, to, id, from, from)
	if err != nil {
		return nil, fmt.Errorf("read what circuit %s sent: %w", id, err)
	}
	defer rows.Close()
	out := &flowv1.CircuitUsage{Circuit: id}
	last := int64(-1)
	for rows.Next() {
		var at int64
		var name string
		var n uint64
		if err := rows.Scan(&at, &name, &n); err != nil {
			return nil, fmt.Errorf("read what circuit %s sent: %w", id, err)
		}
		if at != last {
			out.Points, last = append(out.Points, &flowv1.UsagePoint{Time: timestamppb.New(from.Add(time.Duration(at*step) * time.Second))}), at
		}
		addReading(out, name, n)
	}
	return out, rows.Err()
}

package flowstore

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
)

// Reasons for which something from the bus is not stored. Redelivery would not
// help any of them, so the message is acknowledged and counted.
const (
	reasonUndecodable = "undecodable"
	reasonTooLarge    = "too_large"
	reasonInvalid     = "invalid_record"
	reasonTime        = "time_out_of_range"
)

// oldest and newest bound the times the store takes: what ClickHouse's DateTime can hold.
var (
	oldest = time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)
	newest = time.Date(2105, 12, 31, 0, 0, 0, 0, time.UTC)
)

func storable(from, to time.Time) bool { return !from.Before(oldest) && to.Before(newest) }

// takeFlows is the handler of topic millrace.flows.v1.
func (c *Component) takeFlows(ctx context.Context, m bus.Message) error {
	defer c.busy.enter()()
	b := &flowv1.FlowBatch{}
	if err := proto.Unmarshal(m.Value, b); err != nil {
		c.drop(m, reasonUndecodable, 1)
		return nil
	}
	if len(b.GetRecords()) > store.MaxAtomicRows {
		c.drop(m, reasonTooLarge, len(b.GetRecords()))
		return nil
	}
	batch := flowBatch{id: batchKey(b.GetBatchId()), records: c.validFlows(m, b)}
	if b.GetBatchId() == "" { // the content stands in for it
		batch.id = batchKey(string(m.Value))
	}
	var bad int
	if batch.hours, bad = validHours(b.GetQuality()); bad > 0 {
		c.drop(m, reasonInvalid, bad)
	}
	if len(batch.records)+len(batch.hours) == 0 {
		return nil
	}
	return c.flows.store(ctx, batch, len(batch.records))
}

func (c *Component) validFlows(m bus.Message, b *flowv1.FlowBatch) []flowrecord.Record {
	records := make([]flowrecord.Record, 0, len(b.GetRecords()))
	for _, p := range b.GetRecords() {
		r, err := flowrecord.FromProto(p)
		switch {
		case err != nil:
			c.drop(m, reasonInvalid, 1)
		case !storable(r.Start, r.End):
			c.drop(m, reasonTime, 1)
		default:
			records = append(records, r)
		}
	}
	return records
}

// takeTelemetry is the handler of topic millrace.telemetry.v1.
func (c *Component) takeTelemetry(ctx context.Context, m bus.Message) error {
	defer c.busy.enter()()
	b := &telemetryv1.CounterBatch{}
	if err := proto.Unmarshal(m.Value, b); err != nil {
		c.drop(m, reasonUndecodable, 1)
		return nil
	}
	counters := make([]counter, 0, len(b.GetCounters()))
	for _, p := range b.GetCounters() {
		at := p.GetTime().AsTime()
		if !p.GetTime().IsValid() || !storable(at, at) {
			c.drop(m, reasonTime, 1)
			continue
		}
		counters = append(counters, counter{b.GetDevice(), p.GetPath(), p.GetValue(), at})
	}
	if len(counters) == 0 {
		return nil
	}
	return c.telemetry.store(ctx, counters, len(counters))
}

func (c *Component) drop(m bus.Message, reason string, n int) {
	c.metrics.drops.WithLabelValues(m.Topic, reason).Add(float64(n))
	c.deps.Log.Warn("not stored", "topic", m.Topic, "key", m.Key, "reason", reason, "count", n)
}

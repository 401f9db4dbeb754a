package flowstore

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/store"
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

// takeFlows is the handler of topic millrace.flows.v1.
func (c *Component) takeFlows(ctx context.Context, m bus.Message) error {
	defer c.busy.enter()()
	b, err := flowrecord.DecodeBatch(m.Value)
	if err != nil {
		c.drop(m, reasonUndecodable, 1)
		return nil
	}
	if n := b.Block.Rows(); n > store.MaxAtomicRows {
		c.drop(m, reasonTooLarge, n)
		return nil
	}
	batch := flowBatch{id: batchKey(b.ID)}
	if b.ID == "" { // the content stands in for it
		batch.id = batchKey(string(m.Value))
	}
	var outOfRange, badHours, badTags int
	batch.days, outOfRange = split(b.Block)
	batch.hours, badHours = validHours(b.Hours)
	batch.tags, badTags = validTags(b.Tags)
	for reason, n := range map[string]int{reasonInvalid: b.Refused + badHours + badTags, reasonTime: outOfRange} {
		if n > 0 {
			c.drop(m, reason, n)
		}
	}
	if len(batch.days)+len(batch.hours)+len(batch.tags) == 0 {
		return nil
	}
	return c.flows.store(ctx, batch, batch.rows())
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

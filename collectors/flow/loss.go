package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/events"
)

// tellEvery is how often an event tells of loss, while there is any.
const tellEvery = time.Minute

// loss is what this run of the collector lost for want of room.
type loss struct {
	datagrams uint64 // dropped by the kernel
	records   uint64 // that the bus did not take before Stop gave up
	messages  uint64 // of topics, deleted before they were read
}

func (c *Component) lost() loss {
	out := loss{datagrams: c.dropped(), records: c.batcher.unpublished.Load()}
	for _, s := range c.sources {
		out.messages += s.reader.Lost()
	}
	return out
}

// tellOfLoss publishes an event when more was lost since the last one. The metrics and the hours' quality have the same
// numbers; an operator who looks at neither must still hear of it.
func (c *Component) tellOfLoss(ctx context.Context) {
	now := c.lost()
	if now == c.told {
		return
	}
	c.events.Publish(ctx, events.FlowsLost, "flow collector", fmt.Sprintf(
		"Lost %d datagrams at the sockets, %d flow records that the bus did not take and %d messages of topics that were deleted before they were read.",
		now.datagrams-c.told.datagrams, now.records-c.told.records, now.messages-c.told.messages))
	c.told = now
}

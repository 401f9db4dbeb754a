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
}

func (c *Component) lost() loss {
	return loss{c.dropped(), c.batcher.unpublished.Load()}
}

// tellOfLoss publishes an event when more was lost since the last one. The metrics and the hours' quality have the same
// numbers; an operator who looks at neither must still hear of it.
func (c *Component) tellOfLoss(ctx context.Context) {
	now := c.lost()
	if now == c.told {
		return
	}
	c.events.Publish(ctx, events.FlowsLost, "flow collector", fmt.Sprintf(
		"Lost %d datagrams at the sockets and %d flow records that the bus did not take.",
		now.datagrams-c.told.datagrams, now.records-c.told.records))
	c.told = now
}

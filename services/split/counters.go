package split

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/portcounters"
	"github.com/millrace/millrace/internal/split"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// counters are a router's, by port and queue.
type counters map[string]map[string]split.Counters

// read asks for a router's counters from one time to another. A day is asked for at a time: a series has so many
// points, however long it is.
func (c *Component) read(ctx context.Context, router string, from, to time.Time) (counters, error) {
	out := counters{}
	for ; from.Before(to); from = from.Add(24 * time.Hour) {
		r, err := c.deps.Flows.Telemetry(ctx, connect.NewRequest(&flowv1.TelemetryRequest{
			Device: router, PathPrefix: portcounters.QueuePaths, From: timestamppb.New(from), To: timestamppb.New(earlier(from.Add(24*time.Hour), to)),
		}))
		if err != nil {
			return nil, fmt.Errorf("read the counters of %s: %w", router, err)
		}
		for _, series := range r.Msg.GetSeries() {
			out.add(series)
		}
	}
	return out, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func newer(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// add appends the readings of a series, if it is of a queue that Millrace configured.
func (c counters) add(series *flowv1.TelemetrySeries) {
	counter, ok := portcounters.Parse(series.GetPath())
	queue, owned := counter.PolicyQueue()
	if !ok || !owned {
		return
	}
	if c[counter.Port] == nil {
		c[counter.Port] = map[string]split.Counters{}
	}
	q := c[counter.Port][queue]
	into := map[portcounters.Leaf]*[]portcounters.Reading{
		portcounters.SentOctets: &q.Octets, portcounters.SentPackets: &q.Packets, portcounters.Dropped: &q.Drops,
	}[counter.Leaf]
	*into = append(*into, portcounters.Readings(series)...)
	c[counter.Port][queue] = q
}

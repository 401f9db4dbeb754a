package split

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/split"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// queuePath is a counter of one of Millrace's queues, by openconfig-qos.
var queuePath = regexp.MustCompile(`^/qos/interfaces/interface\[interface-id=([^]]+)\]/output/queues/queue\[name=te-([^]]+)\]/state/(transmit-octets|transmit-pkts|dropped-pkts)$`)

// counters are a router's, by port and queue.
type counters map[string]map[string]split.Counters

// read asks for a router's counters from one time to another. A day is asked for at a time: a series has so many
// points, however long it is.
func (c *Component) read(ctx context.Context, router string, from, to time.Time) (counters, error) {
	out := counters{}
	for ; from.Before(to); from = from.Add(24 * time.Hour) {
		r, err := c.deps.Flows.Telemetry(ctx, connect.NewRequest(&flowv1.TelemetryRequest{
			Device: router, PathPrefix: "/qos/interfaces", From: timestamppb.New(from), To: timestamppb.New(earlier(from.Add(24*time.Hour), to)),
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

func (c counters) add(series *flowv1.TelemetrySeries) {
	m := queuePath.FindStringSubmatch(series.GetPath())
	if m == nil {
		return
	}
	if c[m[1]] == nil {
		c[m[1]] = map[string]split.Counters{}
	}
	q := c[m[1]][m[2]]
	into := map[string]*[]split.Reading{"transmit-octets": &q.Octets, "transmit-pkts": &q.Packets, "dropped-pkts": &q.Drops}[m[3]]
	for _, p := range series.GetPoints() {
		*into = append(*into, split.Reading{At: p.GetTime().AsTime(), Value: p.GetValue()})
	}
	c[m[1]][m[2]] = q
}

package twin

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/twin/predict"
)

// portKey names one port of one router.
type portKey struct{ router, port string }

// loads are those of the request, or where it states none those the routers counted.
func (c *Component) loads(ctx context.Context, plans []compile.RouterPlan, stated []*twinv1.Load) (map[portKey][]predict.Load, []string) {
	out := map[portKey][]predict.Load{}
	for _, l := range stated {
		k := portKey{l.GetRouter(), l.GetInterface()}
		out[k] = append(out[k], predict.Load{Queue: l.GetQueue(), Rate: float64(l.GetRate())})
	}
	if len(stated) > 0 || c.deps.Flows == nil {
		return out, nil
	}
	notes := []string{fmt.Sprintf("loads are the mean of the last %s, by the routers' counters", c.cfg.Window)}
	for _, p := range plans {
		counted, err := c.counted(ctx, p)
		if err != nil {
			notes = append(notes, fmt.Sprintf("the counters of router %s could not be read: %v", p.Router, err))
		}
		for k, l := range counted {
			out[k] = l
		}
	}
	return out, notes
}

// counted reads what one router's ports carried.
func (c *Component) counted(ctx context.Context, p compile.RouterPlan) (map[portKey][]predict.Load, error) {
	now := time.Now()
	var all []*flowv1.TelemetrySeries
	for _, prefix := range []string{"/qos/interfaces", "/interfaces"} {
		r, err := c.deps.Flows.Telemetry(ctx, connect.NewRequest(&flowv1.TelemetryRequest{
			Device: p.Router, PathPrefix: prefix, From: timestamppb.New(now.Add(-c.cfg.Window)), To: timestamppb.New(now),
		}))
		if err != nil {
			return nil, err
		}
		all = append(all, r.Msg.GetSeries()...)
	}
	return portLoads(p, all), nil
}

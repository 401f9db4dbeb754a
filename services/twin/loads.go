package twin

import (
	"context"
	"fmt"
	"maps"
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
func (c *Component) loads(ctx context.Context, plans []compile.RouterPlan, stated []*twinv1.Load) (map[portKey][]predict.Load, []string, error) {
	if len(stated) > 0 || c.deps.Flows == nil {
		out, err := statedLoads(plans, stated)
		return out, nil, err
	}
	out := map[portKey][]predict.Load{}
	notes := []string{fmt.Sprintf("loads are the mean of the last %s, by the routers' counters of sent and dropped packets", c.cfg.Window)}
	for _, p := range plans {
		series, err := c.counters(ctx, p)
		if err != nil {
			notes = append(notes, fmt.Sprintf("the counters of router %s could not be read: %v", p.Router, err))
			continue
		}
		counted, missing := portLoads(p, series)
		maps.Copy(out, counted)
		notes = append(notes, missing...)
	}
	return out, notes, nil
}

// statedLoads refuses a load that fits no plan: a typing error would read as a port that carries nothing.
func statedLoads(plans []compile.RouterPlan, stated []*twinv1.Load) (map[portKey][]predict.Load, error) {
	out := map[portKey][]predict.Load{}
	for _, p := range plans {
		for _, port := range p.Ports {
			out[portKey{p.Router, port.Interface}] = nil
		}
	}
	for _, l := range stated {
		k := portKey{l.GetRouter(), l.GetInterface()}
		if _, planned := out[k]; !planned {
			return nil, fmt.Errorf("no plan has router %q with port %q, for which a load is stated", k.router, k.port)
		}
		out[k] = append(out[k], predict.Load{Queue: l.GetQueue(), Rate: float64(l.GetRate())})
	}
	return out, nil
}

// counters reads what one router counted.
func (c *Component) counters(ctx context.Context, p compile.RouterPlan) ([]*flowv1.TelemetrySeries, error) {
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
	return all, nil
}

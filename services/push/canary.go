package push

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/portcounters"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/guard"
)

// canaryOf is the router that goes first: the first in the order in which routers are changed, so that make before
// break holds.
func (c *Component) canaryOf(devices []*pushv1.DeviceChange) string {
	if c.cfg.Canary.For == 0 || len(devices) == 0 {
		return ""
	}
	return devices[0].GetDevice()
}

// rollbackOf is how long a router waits for its confirmation; the canary also while it is verified alone and watched.
func (r *run) rollbackOf(name string) time.Duration {
	if name != r.canary {
		return r.rollback
	}
	return r.rollback + r.c.cfg.Canary.For + r.c.cfg.VerifyFor + r.extra[name]
}

// watch reads a router's queue counters until they decide, and answers with the figure.
func (r *run) watch(ctx context.Context, name string) (string, error) {
	cfg := r.c.cfg.Canary
	slo := guard.SLO{MaxDrops: cfg.MaxDrops, MinPackets: uint64(cfg.MinPackets)}
	from := r.c.now()
	for ; ctx.Err() == nil; lifecycle.Pause(ctx, cfg.Every) {
		now := r.c.now()
		queues, err := r.c.queues(ctx, name, from, now)
		outcome, figure := slo.Judge(queues, from, from.Add(cfg.For), now)
		switch {
		case outcome == guard.Kept:
			return figure, nil
		case outcome == guard.Broken && err != nil:
			return "", fmt.Errorf("%s: %w", figure, err)
		case outcome == guard.Broken:
			return "", errors.New(figure)
		}
	}
	return "", ctx.Err()
}

// queues are a router's queue counters since from, as services/flowstore has them.
func (c *Component) queues(ctx context.Context, router string, from, to time.Time) ([]guard.Queue, error) {
	if c.deps.Flows == nil {
		return nil, errors.New("services/flowstore is neither hosted nor has an endpoint")
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
	defer cancel()
	answer, err := c.deps.Flows.Telemetry(ctx, connect.NewRequest(&flowv1.TelemetryRequest{
		Device: router, From: timestamppb.New(from), To: timestamppb.New(to), PathPrefix: portcounters.QueuePaths,
	}))
	if err != nil {
		return nil, err
	}
	return queuesOf(answer.Msg.GetSeries()), nil
}

func queuesOf(series []*flowv1.TelemetrySeries) (out []guard.Queue) {
	at := map[string]int{}
	for _, s := range series {
		counter, ok := portcounters.Parse(s.GetPath())
		if !ok || counter.Leaf != portcounters.SentPackets && counter.Leaf != portcounters.Dropped {
			continue
		}
		name := counter.Port + ":" + counter.Queue
		i, known := at[name]
		if !known {
			i, at[name], out = len(out), len(out), append(out, guard.Queue{Name: name})
		}
		if counter.Leaf == portcounters.Dropped {
			out[i].Dropped = portcounters.Readings(s)
		} else {
			out[i].Sent = portcounters.Readings(s)
		}
	}
	return out
}

package split

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/split"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
	"github.com/millrace/millrace/services/split/follow"
)

const (
	// adviseStep is between two samples, and about how far apart the flow store's points of a day are.
	adviseStep = time.Minute
	// adviseStale is how old the last counters may be, and how far apart two readings.
	adviseStale = 10 * time.Minute
)

// Advise implements SplitService. It reads everything itself, so that what is decided about ports is not disturbed.
func (a *api) Advise(ctx context.Context, r *connect.Request[splitv1.AdviseRequest]) (*connect.Response[splitv1.AdviseResponse], error) {
	days := r.Msg.GetDays()
	if days < 1 || days > mostDays {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("days is %d; write 1 to %d", days, mostDays))
	}
	out, err := a.c.advise(ctx, r.Msg.GetPolicy(), int(days), a.c.deps.Now())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(out), nil
}

func (c *Component) advise(ctx context.Context, policy string, days int, now time.Time) (*splitv1.AdviseResponse, error) {
	all, err := c.changes(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := c.planOf(ctx, policy, changesOf(all, policy), now)
	if err != nil {
		return nil, err
	}
	of := plan.GetSplit()
	if of == nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("policy %s has no split; docs/reference/policies.md has its fields", policy))
	}
	law := c.cfg.Law.within(int(of.GetMin()), int(of.GetMax()))
	out := &splitv1.AdviseResponse{Policy: policy}
	for _, router := range plan.GetPlans() {
		read, err := c.read(ctx, router.GetRouter(), now.Add(-time.Duration(days)*24*time.Hour), now)
		if err != nil {
			return nil, err
		}
		for _, port := range router.GetPorts() {
			queues, share := read[port.GetInterface()], shareOf(router, port, of.GetBeta())
			samples := split.Samples(float64(port.GetSpeed()), queues[of.GetAlpha()], queues[of.GetBeta()], adviseStep, adviseStale, time.Time{})
			d := follow.Advise(law, share, samples, adviseStale, now)
			out.Ports = append(out.Ports, &splitv1.Advice{
				Router: router.GetRouter(), Interface: port.GetInterface(), Share: uint32(share), Should: uint32(d.Share),
				Rule: string(d.Rule), Why: d.Why, DemandPercent: d.Demand, ForecastPercent: d.Ahead,
			})
		}
	}
	return out, nil
}

// shareOf is what beta is guaranteed on a port of a plan.
func shareOf(router *policyv1.RouterPlan, port *policyv1.PortScheduling, beta string) int {
	if port.GetSplit() > 0 {
		return int(port.GetSplit())
	}
	return usual(router, beta)
}

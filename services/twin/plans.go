package twin

import (
	"context"
	"fmt"
	"slices"

	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/twin/predict"
)

// openLoop is what a prediction for plans takes for granted.
const openLoop = "senders offer their load whatever is lost: TCP would slow down where a class loses packets"

// plans simulates every port of the plans whose load is known, one after the other.
func (c *Component) plans(ctx context.Context, req *twinv1.PredictRequest) (*twinv1.PredictResponse, error) {
	plans, err := plansFromProto(req.GetPlans().GetPlans())
	if err != nil {
		return nil, err
	}
	loads, notes := c.loads(ctx, plans, req.GetPlans().GetLoads())
	out := &twinv1.PredictResponse{Assumptions: append([]string{openLoop}, notes...)}
	for _, p := range plans {
		if note := redirects(p); note != "" {
			out.Assumptions = append(out.Assumptions, note)
		}
		for _, port := range p.Ports {
			offered := loads[portKey{p.Router, port.Interface}]
			if note := unknown(p, port, offered); note != "" {
				out.Assumptions = append(out.Assumptions, note)
				continue
			}
			effects, hops, err := predict.Port(ctx, p, float64(port.Speed), offered, req.GetSeed())
			if err != nil {
				return nil, fmt.Errorf("router %s, port %s: %w", p.Router, port.Interface, err)
			}
			out.PacketHops += uint64(hops)
			out.Classes = append(out.Classes, effectsToProto(p.Router, port.Interface, effects)...)
		}
	}
	return out, nil
}

// unknown says why a port cannot be simulated.
func unknown(p compile.RouterPlan, port compile.Port, loads []predict.Load) string {
	switch {
	case port.Speed == 0:
		return fmt.Sprintf("router %s, port %s is left out: its speed is not known", p.Router, port.Interface)
	case !slices.ContainsFunc(loads, func(l predict.Load) bool { return l.Rate > 0 }):
		return fmt.Sprintf("router %s, port %s is left out: it carries nothing, or its counters are not known", p.Router, port.Interface)
	}
	return ""
}

// redirects tells that traffic which rules move to another queue is counted in the queue of today.
func redirects(p compile.RouterPlan) string {
	n := 0
	for _, f := range p.Filters {
		n += len(f.Rules)
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("router %s: traffic that %d rules would move is counted in the queue of the load that was stated or measured", p.Router, n)
}

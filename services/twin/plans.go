package twin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/twin/predict"
)

// openLoop is what a prediction for plans takes for granted.
const openLoop = "senders offer their load whatever is lost: TCP would slow down where a class loses packets"

// the fewest packets that figures are reported for
const fewest = 100

// plans simulates every port of the plans whose load is known, one after the other. Ports that the deadline
// does not leave time for are left out.
func (c *Component) plans(ctx context.Context, req *twinv1.PredictRequest) (*twinv1.PredictResponse, error) {
	plans, err := plansFromProto(req.GetPlans().GetPlans())
	if err != nil {
		return nil, err
	}
	loads, notes, err := c.loads(ctx, plans, req.GetPlans().GetLoads())
	if err != nil {
		return nil, err
	}
	out := &twinv1.PredictResponse{Assumptions: append([]string{openLoop}, notes...)}
	for _, p := range plans {
		out.Assumptions = append(out.Assumptions, notSimulated(p)...)
		for _, port := range p.Ports {
			err := c.port(ctx, p, port, loads[portKey{p.Router, port.Interface}], req.GetSeed(), out)
			if errors.Is(err, predict.ErrLoad) && len(req.GetPlans().GetLoads()) == 0 { // nobody stated it
				out.Assumptions = append(out.Assumptions, fmt.Sprintf("router %s, port %s is left out: %v", p.Router, port.Interface, err))
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("router %s, port %s: %w", p.Router, port.Interface, err)
			}
		}
	}
	if ctx.Err() != nil && len(out.GetClasses()) == 0 {
		return nil, ctx.Err()
	}
	return out, nil
}

// port adds what one port does to the answer.
func (c *Component) port(ctx context.Context, p compile.RouterPlan, port compile.Port, loads []predict.Load, seed uint64, out *twinv1.PredictResponse) error {
	note := func(format string, args ...any) {
		out.Assumptions = append(out.Assumptions, fmt.Sprintf("router %s, port %s ", p.Router, port.Interface)+fmt.Sprintf(format, args...))
	}
	if why := unknown(port, loads); why != "" {
		note("is left out: %s", why)
		return nil
	}
	effects, hops, err := predict.Port(ctx, p.At(port), float64(port.Speed), loads, seed)
	if ctx.Err() != nil {
		note("is left out: there was no time for it")
		return nil
	}
	if err != nil {
		return err
	}
	if float64(port.Speed) > predict.Fastest {
		note("is simulated at 10 Gbit/s with its load scaled down: delays of queues that are nearly empty are too long")
	}
	out.PacketHops += uint64(hops)
	for _, e := range effects {
		if e.Packets < fewest {
			note("queue %s is left out: it sends too few packets beside the others for more than its rate", e.Queue)
			continue
		}
		out.Classes = append(out.Classes, effectToProto(p.Router, port.Interface, e))
	}
	return nil
}

// unknown returns the reason why a port cannot be simulated.
func unknown(port compile.Port, loads []predict.Load) string {
	switch {
	case port.Speed == 0:
		return "its speed is not known"
	case !slices.ContainsFunc(loads, func(l predict.Load) bool { return l.Rate > 0 }):
		return "it carries nothing, or its counters are not known"
	}
	return ""
}

// notSimulated are the parts of a plan that change which class gets what before a port is reached.
func notSimulated(p compile.RouterPlan) []string {
	var out []string
	rules := 0
	for _, f := range p.Filters {
		rules += len(f.Rules)
	}
	if rules > 0 {
		out = append(out, fmt.Sprintf("router %s: traffic that %d rules would move is counted in the queue of the load that was stated or measured", p.Router, rules))
	}
	if n := len(p.Policers); n > 0 {
		out = append(out, fmt.Sprintf("router %s: %d policers are not simulated, so what they would drop is offered", p.Router, n))
	}
	return out
}

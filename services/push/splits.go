package push

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// addSplits completes the splits of a change set that is being planned with those in force: a plan is of the policy as
// a whole, and one without them would take them off the other ports.
func (c *Component) addSplits(ctx context.Context, cs *pushv1.ChangeSet) error {
	all, err := c.readable(ctx)
	if err != nil {
		return err
	}
	cs.SplitsBefore = SplitsInForce(all, cs.GetPolicy())
	cs.Splits = withSplits(cs.GetSplitsBefore(), cs.GetSplits())
	return nil
}

// splitsMoved says which splits came into force, or went, since a change set was planned. A repair is of what routers
// had.
func splitsMoved(all []*pushv1.ChangeSet, m *pushv1.ChangeSet) string {
	if len(m.GetRepairs()) > 0 {
		return ""
	}
	now := SplitsInForce(all, m.GetPolicy())
	for _, s := range withSplits(now, m.GetSplitsBefore()) {
		if before, after := betaAt(m.GetSplitsBefore(), s), betaAt(now, s); before != after {
			return fmt.Sprintf("it was planned before the split of %s of %s changed from %s to %s", s.GetInterface(), s.GetRouter(), before, after)
		}
	}
	return ""
}

// betaAt is the split of a port in a list.
func betaAt(list []*policyv1.PortSplit, port *policyv1.PortSplit) string {
	for _, s := range list {
		if s.GetRouter() == port.GetRouter() && s.GetInterface() == port.GetInterface() {
			return fmt.Sprintf("%d %%", s.GetBeta())
		}
	}
	return "the policy's"
}

// SplitsInForce are those of the change set of the policy that was planned last of those that routers hold: the same
// order as that of supersedes. One that was rolled back is not among them: what was before it is in force again.
func SplitsInForce(all []*pushv1.ChangeSet, policy string) []*policyv1.PortSplit {
	var newest *pushv1.ChangeSet
	for _, cs := range all {
		s := states[cs.GetState()]
		if cs.GetPolicy() != policy || len(cs.GetRepairs()) > 0 || s != rollout.Verified && s != rollout.Empty {
			continue
		}
		if newest == nil || plannedAt(cs).After(plannedAt(newest)) {
			newest = cs
		}
	}
	return newest.GetSplits()
}

// withSplits puts the second's in the place of the first's, sorted by router and port.
func withSplits(old, fresh []*policyv1.PortSplit) (out []*policyv1.PortSplit) {
	for _, list := range [][]*policyv1.PortSplit{old, fresh} {
		for _, s := range list {
			if i := slices.IndexFunc(out, ofPort(s)); i >= 0 {
				out[i] = s
			} else {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b *policyv1.PortSplit) int {
		return cmp.Or(cmp.Compare(a.GetRouter(), b.GetRouter()), cmp.Compare(a.GetInterface(), b.GetInterface()))
	})
	return out
}

// ofPort tells the splits of the same port.
func ofPort(s *policyv1.PortSplit) func(*policyv1.PortSplit) bool {
	return func(o *policyv1.PortSplit) bool {
		return o.GetRouter() == s.GetRouter() && o.GetInterface() == s.GetInterface()
	}
}

// followedSplits are those that routers have once a plan is in force: those before it, and of those requested what the
// plan makes of them. A router that is left alone keeps what it has.
func followedSplits(before, requested []*policyv1.PortSplit, plan *policyv1.PlanResponse, left []string) []*policyv1.PortSplit {
	fresh, dropped := []*policyv1.PortSplit(nil), []*policyv1.PortSplit(nil)
	for _, s := range requested {
		port := plannedPort(plan, s)
		refused := slices.ContainsFunc(plan.GetRefusedSplits(), func(r *policyv1.RefusedSplit) bool { return ofPort(s)(r.GetSplit()) })
		switch {
		case slices.Contains(left, s.GetRouter()), refused && port == nil:
		case !refused:
			fresh = append(fresh, s)
		case port.GetSplit() > 0: // the nearest that the policy allows
			fresh = append(fresh, &policyv1.PortSplit{Router: s.GetRouter(), Interface: s.GetInterface(), Beta: port.GetSplit()})
		default: // which is the policy's
			dropped = append(dropped, s)
		}
	}
	return slices.DeleteFunc(withSplits(before, fresh), func(o *policyv1.PortSplit) bool {
		return slices.ContainsFunc(dropped, func(s *policyv1.PortSplit) bool { return ofPort(s)(o) })
	})
}

// plannedPort is what a plan has for the port of a split; nil for nothing.
func plannedPort(plan *policyv1.PlanResponse, s *policyv1.PortSplit) *policyv1.PortScheduling {
	for _, p := range plan.GetPlans() {
		for _, port := range p.GetPorts() {
			if p.GetRouter() == s.GetRouter() && port.GetInterface() == s.GetInterface() {
				return port
			}
		}
	}
	return nil
}

// withoutSplits is what of a plan does not depend on what queues are guaranteed on single ports. How it is rendered
// follows from the rest.
func withoutSplits(p *policyv1.RouterPlan) *policyv1.RouterPlan {
	out := shallow(p, "ports", "entries", "rendered", "reasons")
	for _, at := range p.GetPorts() {
		out.Ports = append(out.Ports, shallow(at, "split", "queues"))
	}
	return out
}

// refusedSplits notes those of the request that the plan does not follow. Of those that were in force before, somebody
// has read it already.
func refusedSplits(requested []*policyv1.PortSplit, plan *policyv1.PlanResponse) (notes []string) {
	for _, r := range plan.GetRefusedSplits() {
		s := r.GetSplit()
		if slices.ContainsFunc(requested, ofPort(s)) {
			notes = append(notes, fmt.Sprintf("the split of %d %% on %s of %s is not followed: %s", s.GetBeta(), s.GetInterface(), s.GetRouter(), r.GetReason()))
		}
	}
	return notes
}

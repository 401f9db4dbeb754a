package predict

import (
	"errors"
	"fmt"
	"slices"

	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// simulable returns the parts of a plan that the simulator does not model: it then refuses, because its
// answer would be about another plan. plan_test.go lists every field that a plan can have.
func simulable(s *scenario.Scenario, plan compile.RouterPlan) error {
	var all []error
	add := func(format string, args ...any) {
		all = append(all, fmt.Errorf("router %s: "+format, append([]any{plan.Router}, args...)...))
	}
	for _, q := range plan.Queues {
		if q.RED != nil && q.RED.ECN {
			add("queue %s marks instead of dropping: the twin's TCP has no ECN; remove ecn: from its red: to see it drop", q.Name)
		}
	}
	for i, p := range plan.Policers {
		for _, other := range plan.Policers[:i] {
			both := slices.IndexFunc(p.Interfaces, func(name string) bool { return slices.Contains(other.Interfaces, name) })
			if p.Queue == other.Queue && both >= 0 {
				add("policers %s and %s both limit queue %s on %s: the twin has one for each queue of an interface", other.Name, p.Name, p.Queue, p.Interfaces[both])
			}
		}
	}
	for _, p := range plan.Profiles {
		if p.Exceed != (document.Action{}) {
			add("circuit %s treats traffic above its rate differently: the twin does not distinguish that traffic", p.Circuit)
		}
	}
	for _, l := range plan.LSPs {
		for _, hop := range l.Hops {
			if !l.Link(hop) && !slices.ContainsFunc(s.Routers, func(r scenario.Router) bool { return r.Loopback() == hop }) {
				add("LSP %s goes by %s, which is no router of the scenario", l.Name, hop)
			}
		}
	}
	return errors.Join(all...)
}

package state

import (
	"context"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// Agent is the state of the agent itself.
type Agent struct {
	// Drift is the difference between the router and its running configuration; nil if there is none.
	Drift error
	// Pending is the id of the commit that waits for its confirmation, or empty.
	Pending string
	// Missing are the features that were probed at the start and are not supported.
	Missing []string
}

func (r *Reader) agent(_ context.Context, n *tree.Node) error {
	a := r.deps.Agent()
	s := instance(n).Into("agent", "state").Set("in-sync", a.Drift == nil)
	if a.Drift != nil {
		s.Set("drift", a.Drift.Error())
	}
	if a.Pending != "" {
		s.Set("pending-commit", a.Pending)
	}
	if len(a.Missing) > 0 {
		missing := make([]any, len(a.Missing))
		for i, m := range a.Missing {
			missing[i] = m
		}
		s.Set("missing-feature", missing)
	}
	return nil
}

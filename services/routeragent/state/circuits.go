package state

import (
	"context"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// circuits are the local endpoints that the classifier has, with what they carried.
func (r *Reader) circuits(_ context.Context, n *tree.Node) error {
	plan := r.deps.Plan()
	if len(plan.Circuits) == 0 {
		return nil
	}
	installed, err := r.deps.Kernel.CircuitsInForce()
	if err != nil {
		return err
	}
	var indexes []int
	for _, c := range plan.Circuits {
		indexes = append(indexes, c.Entered, c.Left)
	}
	counters, err := r.deps.Kernel.RuleCounters(indexes)
	if err != nil {
		return err
	}
	for _, c := range plan.Circuits {
		if !installed[c.Entered] {
			continue
		}
		in, out := counters[c.Entered], counters[c.Left]
		n.Into("network-instances").Entry("network-instance", c.Name).Into("connection-points").Entry("connection-point", c.Point).
			Into("endpoints").Entry("endpoint", c.Endpoint).Into("state").Set("endpoint-id", c.Endpoint).Set("active", true).
			Set("in-pkts", in.Packets).Set("in-octets", in.Octets).Set("out-pkts", out.Packets).Set("out-octets", out.Octets)
	}
	return nil
}

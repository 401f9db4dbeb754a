package state

import (
	"context"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// sets are the path-selection-groups of several LSPs: what part of the flows each LSP has in the classifier, and what
// it carried.
func (r *Reader) sets(_ context.Context, n *tree.Node) error {
	for _, set := range r.deps.Plan().Sets {
		shares, err := r.deps.Kernel.SetShares(set.ID)
		if err != nil {
			return err
		}
		var indexes []int
		for _, m := range set.Members {
			indexes = append(indexes, m.Counter)
		}
		counters, err := r.deps.Kernel.RuleCounters(indexes)
		if err != nil {
			return err
		}
		for _, m := range set.Members {
			if shares[m.Path] == 0 {
				continue
			}
			c := counters[m.Counter]
			instance(n).Into("policy-forwarding", "path-selection-groups").Entry("path-selection-group", set.Group).Into("lsps").Entry("lsp", m.LSP).
				Into("state").Set("name", m.LSP).Set("buckets", uint32(shares[m.Path])).Set("out-pkts", c.Packets).Set("out-octets", c.Octets)
		}
	}
	return nil
}

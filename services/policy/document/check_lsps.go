package document

import (
	"fmt"
	"slices"
)

// checkLSPs: a rule's LSPs are computed, or by hand between one pair of routers.
func (r *reader) checkLSPs(d Redirect, at string) {
	if d.LSP != nil && d.LSPs != nil {
		r.problem(at+".lsps", "the rule has lsp: and lsps:", "write two rules, or remove one of the two")
	}
	if d.LSP != nil && d.LSP.Paths > MaxPaths {
		r.problem(at+".lsp.paths", fmt.Sprintf("%d LSPs are more than routers share flows among", d.LSP.Paths), fmt.Sprintf("write at most %d", MaxPaths))
	}
	if d.LSP != nil && d.LSP.Set() && d.LSP.MinBandwidth == 0 {
		r.problem(at+".lsp.paths", "several LSPs are for a bandwidth that one path may lack", "add min_bandwidth: with what the queue has of them together, or remove paths:")
	}
	if len(d.LSPs) > MaxPaths {
		r.problem(at+".lsps", fmt.Sprintf("%d LSPs are more than routers share flows among", len(d.LSPs)), fmt.Sprintf("write at most %d", MaxPaths))
	}
	for i, e := range d.LSPs {
		r.checkVia(d.LSPs[:i], e.Via, fmt.Sprintf("%s.lsps[%d].via", at, i))
	}
}

func (r *reader) checkVia(before []ExplicitLSP, via []string, at string) {
	for i, name := range via {
		if slices.Contains(via[:i], name) {
			r.problem(at, fmt.Sprintf("the path passes %s twice", name), "name each router once")
		}
	}
	switch {
	case len(via) < 2:
		r.problem(at, "a path has two ends", "name the routers in order, the ends included, such as [wr, cr, er]")
	case slices.ContainsFunc(before, func(o ExplicitLSP) bool { return slices.Equal(o.Via, via) }):
		r.problem(at, "the path is there twice", "give one of them the sum of the weights")
	case len(before) > 0 && len(before[0].Via) > 1 && (before[0].Via[0] != via[0] || before[0].Via[len(before[0].Via)-1] != via[len(via)-1]):
		r.problem(at, fmt.Sprintf("the path goes from %s to %s, and the first of the rule from %s to %s", via[0], via[len(via)-1], before[0].Via[0], before[0].Via[len(before[0].Via)-1]),
			"write a rule of its own for each pair of routers")
	}
}

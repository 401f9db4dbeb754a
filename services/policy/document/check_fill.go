package document

import (
	"fmt"
	"slices"
)

// lbe are the code points of less than best effort: CS1 (paper 004, section 4.1) and LE (RFC 8622).
var lbe = []DSCP{8, 1}

// checkPriorities is guard rail lbe-priority.
func (r *reader) checkPriorities(p *Policy) {
	byDefault := slices.IndexFunc(p.Queues, func(q Queue) bool { return q.Default })
	if byDefault < 0 {
		return
	}
	be := p.Queues[byDefault]
	for i, c := range p.Classes {
		q, ok := p.QueueByName(c.Queue)
		if !ok || !c.isLBE() || q.Priority > be.Priority {
			continue
		}
		r.guard(p, LBEPriority, fmt.Sprintf("classes[%d].queue", i),
			fmt.Sprintf("class %s is less than best effort, but queue %s has priority %s and default queue %s has %s: best effort loses throughput to it whatever the weights (paper 004, section 4.1, table 1)",
				c.Name, q.Name, q.Priority, be.Name, be.Priority),
			"give its queue a lower priority than the default queue's (table 2)")
	}
}

// isLBE is whether packets of the class come or leave with a code point of less than best effort.
func (c Class) isLBE() bool {
	if c.Mark != nil {
		return slices.Contains(lbe, *c.Mark)
	}
	for _, m := range c.Match {
		if slices.ContainsFunc(m.DSCP, func(d DSCP) bool { return slices.Contains(lbe, d) }) {
			return true
		}
	}
	return false
}

// checkFilled is guard rail unfilled-queue.
func (r *reader) checkFilled(p *Policy) {
	filled := map[string]bool{}
	for _, c := range p.Classes {
		filled[c.Queue] = true
	}
	for _, d := range p.Redirect {
		filled[d.Queue] = true
	}
	for _, o := range p.Policers {
		filled[o.Exceed.Queue], filled[o.Violate.Queue] = true, true
	}
	for i, q := range p.Queues {
		if !filled[q.Name] && !q.Default {
			r.guard(p, UnfilledQueue, fmt.Sprintf("queues[%d].name", i),
				fmt.Sprintf("no class, redirect or policer puts packets into queue %s, so its %d %% of the rate and %d %% of the buffer are for nobody", q.Name, q.Weight, q.Buffer),
				"remove the queue, or write a class for it")
		}
	}
}

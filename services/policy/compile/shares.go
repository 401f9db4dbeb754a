package compile

import (
	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/services/policy/document"
)

// MaxRate is the most of a port's speed that a queue may use, percent; 0: no
// limit. A strict partition limits every queue to its weight.
func (p RouterPlan) MaxRate(q document.Queue) uint8 {
	if p.Scheduling.Partition == document.Strict {
		return q.Weight
	}
	return q.MaxRate
}

// Shares are the plan's queues and excess mode as internal/shares computes with them, in the order of Queues.
func (p RouterPlan) Shares() ([]shares.Queue, shares.Excess) {
	var out []shares.Queue
	for _, q := range p.Queues {
		out = append(out, shares.Queue{Weight: uint64(q.Weight), Priority: int(q.Priority), Max: shares.Limit{Percent: uint64(p.MaxRate(q))}})
	}
	if p.Scheduling.Excess == document.ExcessEqual {
		return out, shares.Equal
	}
	return out, shares.Weighted
}

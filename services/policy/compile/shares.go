package compile

import (
	"time"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/internal/units"
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

// BufferBytes is a queue's part of what a port of that speed sends in the plan's buffer time.
func (p RouterPlan) BufferBytes(speed units.Rate, q document.Queue) uint64 {
	whole := float64(speed) / 8 * time.Duration(p.BufferTime).Seconds()
	return uint64(whole * float64(q.Buffer) / 100)
}
